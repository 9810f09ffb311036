//===- Expr.cpp - Symbolic index expressions and conditions ---------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Symbolic/Expr.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <map>

using namespace timerl;

struct Expr::Node {
  Kind kind;
  int64_t value;
  std::string name;
  std::vector<Expr> operands;
  std::vector<int64_t> coefficients;
  std::string text; // Canonical, computed once: the identity of the node.
};

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

namespace {
/// Binding strength, loosest first; decides parentheses.
enum Strength {
  orStrength,
  andStrength,
  notStrength,
  cmpStrength,
  sumStrength,
  productStrength,
  atomStrength
};
} // namespace

/// Writes a sum as its terms in order, the constant last; `atom` writes an
/// operand.
static std::string sumText(int64_t constant, llvm::ArrayRef<Expr> operands,
                           llvm::ArrayRef<int64_t> coefficients,
                           llvm::function_ref<std::string(const Expr &)> atom) {
  std::string out;
  auto term = [&](int64_t coefficient, const std::string &text) {
    bool negative = coefficient < 0;
    out += out.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    uint64_t magnitude =
        negative ? 0 - static_cast<uint64_t>(coefficient) : coefficient;
    if (text.empty())
      out += std::to_string(magnitude);
    else
      out += magnitude == 1 ? text : std::to_string(magnitude) + "*" + text;
  };
  // A leading minus reads badly when something positive can come first.
  for (bool positive : {true, false})
    for (auto [operand, coefficient] : llvm::zip(operands, coefficients))
      if ((coefficient > 0) == positive)
        term(coefficient, atom(operand));
  if (constant || out.empty())
    term(constant, "");
  return out;
}

static Strength strengthOf(const Expr &expr) {
  switch (expr.kind()) {
  case Expr::Kind::Sum:
    return expr.operands().size() == 1 && expr.value() == 0 ? productStrength
                                                            : sumStrength;
  case Expr::Kind::Const:
    return expr.value() < 0 ? sumStrength : atomStrength;
  case Expr::Kind::FloorDiv:
  case Expr::Kind::Mod:
    return productStrength;
  case Expr::Kind::Eq:
  case Expr::Kind::Ge:
    return cmpStrength;
  case Expr::Kind::Not:
    return cmpStrength; // Printed as !=.
  case Expr::Kind::And:
    return andStrength;
  case Expr::Kind::Or:
    return orStrength;
  default:
    return atomStrength;
  }
}

static std::string wrapped(const Expr &expr, Strength least) {
  return strengthOf(expr) < least ? "(" + expr.str() + ")" : expr.str();
}

/// `sum op 0` with negative terms moved to the right: `t >= i + 1`.
static std::string comparisonText(const Expr &sum, llvm::StringRef op) {
  if (sum.kind() != Expr::Kind::Sum || sum.value() == INT64_MIN ||
      llvm::is_contained(sum.coefficients(), INT64_MIN))
    return sum.str() + " " + op.str() + " 0";
  /// One side: the terms of one sign, without it.
  auto side = [&](bool positive) {
    std::vector<Expr> operands;
    std::vector<int64_t> coefficients;
    for (auto [operand, coefficient] :
         llvm::zip(sum.operands(), sum.coefficients()))
      if ((coefficient > 0) == positive) {
        operands.push_back(operand);
        coefficients.push_back(std::abs(coefficient));
      }
    int64_t constant =
        (sum.value() > 0) == positive ? std::abs(sum.value()) : 0;
    if (operands.size() == 1 && coefficients[0] == 1 && constant == 0)
      return operands[0].str();
    return sumText(constant, operands, coefficients,
                   [](const Expr &e) { return wrapped(e, atomStrength); });
  };
  std::string left = side(true), right = side(false);
  // `3 >= t` reads better the other way round.
  if (llvm::all_of(sum.coefficients(), [](int64_t c) { return c < 0; }))
    return right + (op == ">=" ? " <= " : " " + op.str() + " ") + left;
  return left + " " + op.str() + " " + right;
}

static std::string textOf(Expr::Kind kind, int64_t value, llvm::StringRef name,
                          llvm::ArrayRef<Expr> operands,
                          llvm::ArrayRef<int64_t> coefficients) {
  auto list = [&](llvm::StringRef separator, Strength least) {
    std::vector<std::string> parts;
    for (const Expr &operand : operands)
      parts.push_back(wrapped(operand, least));
    return llvm::join(parts, separator);
  };
  switch (kind) {
  case Expr::Kind::Const:
    return std::to_string(value);
  case Expr::Kind::Var:
    return name.str();
  case Expr::Kind::Sum:
    return sumText(value, operands, coefficients,
                   [](const Expr &e) { return wrapped(e, atomStrength); });
  case Expr::Kind::FloorDiv:
    return wrapped(operands[0], atomStrength) + " // " + std::to_string(value);
  case Expr::Kind::Mod:
    return wrapped(operands[0], atomStrength) + " % " + std::to_string(value);
  case Expr::Kind::Min:
    return "min(" + list(", ", orStrength) + ")";
  case Expr::Kind::Max:
    return "max(" + list(", ", orStrength) + ")";
  case Expr::Kind::Overflow:
    return "overflow";
  case Expr::Kind::Bool:
    return value ? "true" : "false";
  case Expr::Kind::Eq:
    return comparisonText(operands[0], "==");
  case Expr::Kind::Ge:
    return comparisonText(operands[0], ">=");
  case Expr::Kind::Not:
    return comparisonText(operands[0].operands()[0], "!=");
  case Expr::Kind::And:
    return list(" and ", andStrength);
  case Expr::Kind::Or:
    return list(" or ", andStrength);
  }
  return "";
}

std::string Expr::str() const { return node->text; }

std::string
Expr::islStr(llvm::function_ref<std::string(llvm::StringRef)> rename) const {
  auto list = [&](llvm::StringRef separator) {
    std::vector<std::string> parts;
    for (const Expr &operand : operands())
      parts.push_back("(" + operand.islStr(rename) + ")");
    return llvm::join(parts, separator);
  };
  auto operand = [&](unsigned k) {
    return "(" + operands()[k].islStr(rename) + ")";
  };
  switch (kind()) {
  case Kind::Const:
    return std::to_string(value());
  case Kind::Var:
    return rename(name());
  case Kind::Sum:
    return sumText(value(), operands(), coefficients(),
                   [&](const Expr &e) { return "(" + e.islStr(rename) + ")"; });
  case Kind::FloorDiv:
    return "floor(" + operand(0) + "/" + std::to_string(value()) + ")";
  case Kind::Mod:
    return operand(0) + " mod " + std::to_string(value());
  case Kind::Min:
    return "min(" + list(", ") + ")";
  case Kind::Max:
    return "max(" + list(", ") + ")";
  case Kind::Overflow:
    return "0";
  case Kind::Bool:
    return value() ? "0 = 0" : "1 = 0";
  case Kind::Eq:
    return operand(0) + " = 0";
  case Kind::Ge:
    return operand(0) + " >= 0";
  case Kind::Not:
    return "(" + operands()[0].operands()[0].islStr(rename) + ") != 0";
  case Kind::And:
    return list(" and ");
  case Kind::Or:
    return list(" or ");
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

Expr Expr::make(Kind kind, int64_t value, std::string name,
                std::vector<Expr> operands, std::vector<int64_t> coefficients) {
  std::string text = textOf(kind, value, name, operands, coefficients);
  return Expr(std::make_shared<const Node>(
      Node{kind, value, std::move(name), std::move(operands),
           std::move(coefficients), std::move(text)}));
}

Expr Expr::overflow() { return make(Kind::Overflow, 0, "", {}, {}); }
Expr Expr::constant(int64_t value) {
  return make(Kind::Const, value, "", {}, {});
}
Expr Expr::var(llvm::StringRef name) {
  return make(Kind::Var, 0, name.str(), {}, {});
}
Expr Expr::boolean(bool value) { return make(Kind::Bool, value, "", {}, {}); }

static bool anyOverflow(llvm::ArrayRef<Expr> operands) {
  return llvm::any_of(operands, [](const Expr &e) { return e.isOverflow(); });
}

namespace {
/// A sum under construction: atoms by text, coefficients, constant.
struct SumBuilder {
  int64_t constant = 0;
  std::map<std::string, std::pair<Expr, int64_t>> terms;
  bool overflow = false;

  void add(const Expr &expr, int64_t factor) {
    if (expr.isOverflow()) {
      overflow = true;
    } else if (expr.kind() == Expr::Kind::Const) {
      addConstant(expr.value(), factor);
    } else if (expr.kind() == Expr::Kind::Sum) {
      addConstant(expr.value(), factor);
      for (auto [operand, coefficient] :
           llvm::zip(expr.operands(), expr.coefficients()))
        addTerm(operand, coefficient, factor);
    } else {
      addTerm(expr, 1, factor);
    }
  }

private:
  void addConstant(int64_t value, int64_t factor) {
    int64_t product;
    overflow |= __builtin_mul_overflow(value, factor, &product);
    overflow |= __builtin_add_overflow(constant, product, &constant);
  }
  void addTerm(const Expr &atom, int64_t coefficient, int64_t factor) {
    int64_t product;
    overflow |= __builtin_mul_overflow(coefficient, factor, &product);
    auto &entry = terms.try_emplace(atom.str(), atom, 0).first->second;
    overflow |= __builtin_add_overflow(entry.second, product, &entry.second);
  }
};
} // namespace

Expr Expr::sumOf(llvm::ArrayRef<Expr> operands, llvm::ArrayRef<int64_t> factors,
                 int64_t offset) {
  SumBuilder sum;
  sum.constant = offset;
  for (auto [operand, factor] : llvm::zip(operands, factors))
    sum.add(operand, factor);
  if (sum.overflow)
    return overflow();
  std::vector<Expr> atoms;
  std::vector<int64_t> coefficients;
  for (auto &[text, term] : sum.terms)
    if (term.second) {
      atoms.push_back(term.first);
      coefficients.push_back(term.second);
    }
  if (atoms.empty())
    return constant(sum.constant);
  // Also folds -1 * (-1 * x) back to x.
  if (atoms.size() == 1 && coefficients[0] == 1 && sum.constant == 0)
    return atoms[0];
  return make(Kind::Sum, sum.constant, "", std::move(atoms),
              std::move(coefficients));
}

Expr Expr::operator+(const Expr &rhs) const {
  return sumOf({*this, rhs}, {1, 1}, 0);
}

Expr Expr::operator-(const Expr &rhs) const {
  return sumOf({*this, rhs}, {1, -1}, 0);
}

Expr Expr::operator*(int64_t factor) const {
  if (factor == 0 && !isOverflow())
    return constant(0);
  if (factor == 1)
    return *this;
  return sumOf(*this, factor, 0);
}

std::optional<Expr> Expr::mul(const Expr &lhs, const Expr &rhs) {
  if (auto factor = rhs.getConst())
    return lhs * *factor;
  if (auto factor = lhs.getConst())
    return rhs * *factor;
  return std::nullopt;
}

static int64_t floorDivide(int64_t lhs, int64_t rhs) {
  int64_t quotient = lhs / rhs;
  return quotient - (lhs % rhs != 0 && (lhs < 0) != (rhs < 0));
}

Expr Expr::floorDiv(const Expr &lhs, int64_t rhs) {
  if (lhs.isOverflow() || rhs == INT64_MIN)
    return overflow();
  if (rhs == 0)
    return constant(0);
  if (rhs < 0)
    return floorDiv(-lhs, -rhs);
  if (rhs == 1)
    return lhs;
  if (auto value = lhs.getConst())
    return constant(floorDivide(*value, rhs));
  if (lhs.kind() == Kind::Sum) {
    // (rhs*q + rest) // rhs = q + rest // rhs.
    Expr quotient, rest;
    for (auto [operand, coefficient] :
         llvm::zip(lhs.operands(), lhs.coefficients())) {
      int64_t whole = floorDivide(coefficient, rhs);
      quotient = quotient + operand * whole;
      rest = rest + operand * (coefficient - whole * rhs);
    }
    int64_t whole = floorDivide(lhs.value(), rhs);
    quotient = quotient + constant(whole);
    rest = rest + constant(lhs.value() - whole * rhs);
    if (quotient != constant(0))
      return quotient + floorDiv(rest, rhs);
  }
  if (lhs.kind() == Kind::FloorDiv) {
    int64_t product;
    if (!__builtin_mul_overflow(lhs.value(), rhs, &product))
      return floorDiv(lhs.operands()[0], product);
  }
  if (lhs.kind() == Kind::Mod && lhs.value() <= rhs)
    return constant(0);
  return make(Kind::FloorDiv, rhs, "", {lhs}, {});
}

Expr Expr::mod(const Expr &lhs, int64_t rhs) {
  if (lhs.isOverflow() || rhs == INT64_MIN)
    return overflow();
  if (rhs == 0)
    return constant(0);
  if (rhs < 0) // Python's: the sign of the divisor.
    return -mod(-lhs, -rhs);
  if (rhs == 1)
    return constant(0);
  if (auto value = lhs.getConst())
    return constant(*value - floorDivide(*value, rhs) * rhs);
  if (lhs.kind() == Kind::Sum) {
    Expr rest = constant(lhs.value() - floorDivide(lhs.value(), rhs) * rhs);
    for (auto [operand, coefficient] :
         llvm::zip(lhs.operands(), lhs.coefficients()))
      rest =
          rest + operand * (coefficient - floorDivide(coefficient, rhs) * rhs);
    if (rest != lhs)
      return mod(rest, rhs);
  }
  if (lhs.kind() == Kind::Mod && lhs.value() <= rhs)
    return lhs;
  if (lhs.kind() == Kind::Mod && lhs.value() % rhs == 0)
    return mod(lhs.operands()[0], rhs);
  return make(Kind::Mod, rhs, "", {lhs}, {});
}

Expr Expr::minMax(Kind kind, llvm::ArrayRef<Expr> operands) {
  if (anyOverflow(operands))
    return overflow();
  std::vector<Expr> flat;
  for (const Expr &operand : operands) {
    if (operand.kind() == kind)
      llvm::append_range(flat, operand.operands());
    else
      flat.push_back(operand);
  }
  // Of operands that differ by a constant only one counts.
  std::vector<Expr> kept;
  for (const Expr &candidate : flat) {
    bool merged = false;
    for (Expr &other : kept) {
      auto difference = (candidate - other).getConst();
      if (!difference)
        continue;
      if (kind == Kind::Min ? *difference < 0 : *difference > 0)
        other = candidate;
      merged = true;
      break;
    }
    if (!merged)
      kept.push_back(candidate);
  }
  if (kept.size() == 1)
    return kept[0];
  std::sort(kept.begin(), kept.end(), [](const Expr &a, const Expr &b) {
    return a.node->text < b.node->text;
  });
  return make(kind, 0, "", std::move(kept), {});
}

Expr Expr::min(llvm::ArrayRef<Expr> operands) {
  return minMax(Kind::Min, operands);
}
Expr Expr::max(llvm::ArrayRef<Expr> operands) {
  return minMax(Kind::Max, operands);
}

Expr Expr::eq(const Expr &lhs, const Expr &rhs) {
  Expr difference = lhs - rhs;
  if (difference.isOverflow())
    return overflow();
  if (auto value = difference.getConst())
    return boolean(*value == 0);
  // One orientation for both: the first coefficient is positive.
  if (difference.kind() == Kind::Sum && difference.coefficients()[0] < 0)
    difference = -difference;
  if (difference.isOverflow())
    return overflow();
  return make(Kind::Eq, 0, "", {difference}, {});
}

Expr Expr::ne(const Expr &lhs, const Expr &rhs) { return negate(eq(lhs, rhs)); }

Expr Expr::le(const Expr &lhs, const Expr &rhs) {
  Expr difference = rhs - lhs;
  if (difference.isOverflow())
    return overflow();
  if (auto value = difference.getConst())
    return boolean(*value >= 0);
  return make(Kind::Ge, 0, "", {difference}, {});
}

Expr Expr::lt(const Expr &lhs, const Expr &rhs) {
  return le(lhs + constant(1), rhs);
}

Expr Expr::junction(Kind kind, llvm::ArrayRef<Expr> operands) {
  if (anyOverflow(operands))
    return overflow();
  bool neutral = kind == Kind::And;
  std::vector<Expr> flat;
  auto push = [&](const Expr &operand) {
    if (!llvm::is_contained(flat, operand))
      flat.push_back(operand);
  };
  for (const Expr &operand : operands) {
    if (operand.kind() == Kind::Bool) {
      if ((operand.value() != 0) != neutral)
        return boolean(!neutral);
    } else if (operand.kind() == kind) {
      for (const Expr &inner : operand.operands())
        push(inner);
    } else {
      push(operand);
    }
  }
  if (flat.empty())
    return boolean(neutral);
  if (flat.size() == 1)
    return flat[0];
  return make(kind, 0, "", std::move(flat), {});
}

Expr Expr::conj(llvm::ArrayRef<Expr> operands) {
  return junction(Kind::And, operands);
}
Expr Expr::disj(llvm::ArrayRef<Expr> operands) {
  return junction(Kind::Or, operands);
}

Expr Expr::negate(const Expr &condition) {
  switch (condition.kind()) {
  case Kind::Bool:
    return boolean(!condition.value());
  case Kind::Eq:
    return make(Kind::Not, 0, "", {condition}, {});
  case Kind::Not:
    return condition.operands()[0];
  case Kind::Ge: // not (e >= 0)  is  -e - 1 >= 0
    return le(condition.operands()[0] + constant(1), constant(0));
  case Kind::And:
  case Kind::Or: {
    std::vector<Expr> negated;
    for (const Expr &operand : condition.operands())
      negated.push_back(negate(operand));
    return condition.kind() == Kind::And ? disj(negated) : conj(negated);
  }
  default:
    return overflow();
  }
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

Expr::Kind Expr::kind() const { return node->kind; }
int64_t Expr::value() const { return node->value; }
llvm::StringRef Expr::name() const { return node->name; }
llvm::ArrayRef<Expr> Expr::operands() const { return node->operands; }
llvm::ArrayRef<int64_t> Expr::coefficients() const {
  return node->coefficients;
}

std::optional<int64_t> Expr::getConst() const {
  return isConst() ? std::optional<int64_t>(value()) : std::nullopt;
}

bool Expr::operator==(const Expr &rhs) const {
  return node == rhs.node ||
         (node->kind == rhs.node->kind && node->text == rhs.node->text);
}

Expr Expr::substitute(
    llvm::function_ref<std::optional<Expr>(llvm::StringRef)> map) const {
  std::vector<Expr> parts;
  bool same = true;
  for (const Expr &operand : operands()) {
    parts.push_back(operand.substitute(map));
    same &= parts.back().node == operand.node;
  }
  if (same && kind() != Kind::Var)
    return *this;
  switch (kind()) {
  case Kind::Const:
  case Kind::Bool:
  case Kind::Overflow:
    return *this;
  case Kind::Var:
    return map(name()).value_or(*this);
  case Kind::Sum:
    return sumOf(parts, coefficients(), value());
  case Kind::FloorDiv:
    return floorDiv(parts[0], value());
  case Kind::Mod:
    return mod(parts[0], value());
  case Kind::Min:
    return min(parts);
  case Kind::Max:
    return max(parts);
  case Kind::Eq:
    return eq(parts[0], constant(0));
  case Kind::Ge:
    return ge(parts[0], constant(0));
  case Kind::Not:
    return negate(parts[0]);
  case Kind::And:
    return conj(parts);
  case Kind::Or:
    return disj(parts);
  }
  return *this;
}

Expr Expr::rename(llvm::function_ref<std::string(llvm::StringRef)> map) const {
  return substitute([&](llvm::StringRef name) -> std::optional<Expr> {
    return var(map(name));
  });
}

std::optional<int64_t> Expr::evaluate(
    llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> binding) const {
  auto operand = [&](unsigned k) { return operands()[k].evaluate(binding); };
  switch (kind()) {
  case Kind::Const:
    return value();
  case Kind::Bool:
    return value() != 0;
  case Kind::Overflow:
    return std::nullopt;
  case Kind::Var:
    return binding(name());
  case Kind::Sum: {
    int64_t sum = value();
    for (auto [term, coefficient] : llvm::zip(operands(), coefficients())) {
      auto inner = term.evaluate(binding);
      int64_t product;
      if (!inner || __builtin_mul_overflow(*inner, coefficient, &product) ||
          __builtin_add_overflow(sum, product, &sum))
        return std::nullopt;
    }
    return sum;
  }
  case Kind::FloorDiv:
  case Kind::Mod: {
    auto inner = operand(0);
    if (!inner)
      return std::nullopt;
    int64_t quotient = floorDivide(*inner, value());
    return kind() == Kind::FloorDiv ? quotient : *inner - quotient * value();
  }
  case Kind::Min:
  case Kind::Max: {
    auto best = operand(0);
    for (unsigned k = 1; best && k < operands().size(); ++k) {
      auto next = operand(k);
      if (!next)
        return std::nullopt;
      best =
          kind() == Kind::Min ? std::min(*best, *next) : std::max(*best, *next);
    }
    return best;
  }
  case Kind::Eq:
  case Kind::Ge: {
    auto inner = operand(0);
    if (!inner)
      return std::nullopt;
    return kind() == Kind::Eq ? *inner == 0 : *inner >= 0;
  }
  case Kind::Not: {
    auto inner = operand(0);
    if (!inner)
      return std::nullopt;
    return !*inner;
  }
  case Kind::And:
  case Kind::Or:
    for (const Expr &part : operands()) {
      auto inner = part.evaluate(binding);
      if (!inner)
        return std::nullopt;
      if ((*inner != 0) != (kind() == Kind::And))
        return kind() == Kind::Or;
    }
    return kind() == Kind::And;
  }
  return std::nullopt;
}

static void collect(const Expr &expr, std::vector<std::string> &names) {
  if (expr.kind() == Expr::Kind::Var && !llvm::is_contained(names, expr.name()))
    names.push_back(expr.name().str());
  for (const Expr &operand : expr.operands())
    collect(operand, names);
}

std::vector<std::string> Expr::variables() const {
  std::vector<std::string> names;
  collect(*this, names);
  return names;
}

bool Expr::mentions(llvm::StringRef name) const {
  if (kind() == Kind::Var)
    return this->name() == name;
  return llvm::any_of(operands(),
                      [&](const Expr &e) { return e.mentions(name); });
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace {
/// Recursive descent over `Expr::str()`'s notation.
class ExprParser {
public:
  explicit ExprParser(llvm::StringRef text) : rest(text) {}
  std::string error;

  std::optional<Expr> parseAll() {
    auto result = parseOr();
    if (result && !rest.ltrim().empty())
      return fail("unexpected '" + rest.ltrim().take_front(8).str() + "'");
    return result;
  }

private:
  llvm::StringRef rest;
  unsigned depth = 0;

  std::nullopt_t fail(std::string message) {
    if (error.empty())
      error = std::move(message);
    return std::nullopt;
  }
  bool accept(llvm::StringRef token) {
    llvm::StringRef trimmed = rest.ltrim();
    if (!trimmed.starts_with(token))
      return false;
    llvm::StringRef after = trimmed.drop_front(token.size());
    bool word = llvm::isAlpha(token.back());
    if (word && !after.empty() && isNameChar(after[0]))
      return false;
    if (token == "/" && after.starts_with("/"))
      return false;
    rest = after;
    return true;
  }
  static bool isNameChar(char c) {
    return llvm::isAlnum(c) || c == '_' || c == '.' || c == '\'';
  }

  std::optional<Expr> parseJunction(llvm::StringRef word, bool conjunction) {
    auto first = conjunction ? parseNot() : parseJunction("and", true);
    if (!first)
      return std::nullopt;
    std::vector<Expr> operands{*first};
    while (accept(word)) {
      auto next = conjunction ? parseNot() : parseJunction("and", true);
      if (!next)
        return std::nullopt;
      operands.push_back(*next);
    }
    if (operands.size() == 1)
      return first;
    if (llvm::any_of(operands, [](const Expr &e) { return !e.isCondition(); }))
      return fail("'" + word.str() + "' needs conditions");
    return conjunction ? Expr::conj(operands) : Expr::disj(operands);
  }
  std::optional<Expr> parseOr() { return parseJunction("or", false); }

  std::optional<Expr> parseNot() {
    if (!accept("not"))
      return parseComparison();
    auto operand = parseNot();
    if (!operand)
      return std::nullopt;
    if (!operand->isCondition())
      return fail("'not' needs a condition");
    return Expr::negate(*operand);
  }

  std::optional<Expr> parseComparison() {
    auto lhs = parseSum();
    if (!lhs)
      return std::nullopt;
    static const std::pair<llvm::StringRef,
                           Expr (*)(const Expr &, const Expr &)>
        table[] = {{"==", Expr::eq}, {"!=", Expr::ne}, {"<=", Expr::le},
                   {">=", Expr::ge}, {"<", Expr::lt},  {">", Expr::gt}};
    for (auto [token, build] : table)
      if (accept(token)) {
        auto rhs = parseSum();
        if (!rhs)
          return std::nullopt;
        if (lhs->isCondition() || rhs->isCondition())
          return fail("a comparison needs integers");
        return build(*lhs, *rhs);
      }
    return lhs;
  }

  std::optional<Expr> parseSum() {
    bool negative = accept("-");
    auto sum = parseProduct();
    if (!sum)
      return std::nullopt;
    if (negative)
      sum = -*sum;
    while (true) {
      bool plus = accept("+");
      if (!plus && !accept("-"))
        return sum;
      auto term = parseProduct();
      if (!term)
        return std::nullopt;
      sum = plus ? *sum + *term : *sum - *term;
    }
  }

  std::optional<Expr> parseProduct() {
    auto lhs = parseAtom();
    while (lhs) {
      if (accept("*")) {
        auto rhs = parseAtom();
        if (!rhs)
          return std::nullopt;
        lhs = Expr::mul(*lhs, *rhs);
        if (!lhs)
          return fail("a product needs a constant factor");
      } else if (bool division = accept("//"); division || accept("%")) {
        auto rhs = parseAtom();
        if (!rhs)
          return std::nullopt;
        if (!rhs->isConst())
          return fail("the divisor must be a constant");
        lhs = division ? Expr::floorDiv(*lhs, rhs->value())
                       : Expr::mod(*lhs, rhs->value());
      } else {
        break;
      }
    }
    return lhs;
  }

  std::optional<Expr> parseAtom() {
    if (++depth > 500)
      return fail("nested too deeply");
    auto result = parseAtomInner();
    --depth;
    return result;
  }

  std::optional<Expr> parseAtomInner() {
    rest = rest.ltrim();
    if (accept("(")) {
      auto inner = parseOr();
      if (inner && !accept(")"))
        return fail("expected ')'");
      return inner;
    }
    if (rest.empty())
      return fail("unexpected end");
    if (llvm::isDigit(rest[0])) {
      llvm::StringRef digits = rest.take_while(llvm::isDigit);
      rest = rest.drop_front(digits.size());
      int64_t value;
      if (digits.getAsInteger(10, value))
        return fail("'" + digits.str() + "' does not fit 64 bits");
      return Expr::constant(value);
    }
    llvm::StringRef name = rest.take_while(isNameChar);
    if (name.empty())
      return fail("unexpected '" + rest.take_front(1).str() + "'");
    rest = rest.drop_front(name.size());
    if (name == "true" || name == "false")
      return Expr::boolean(name == "true");
    if (!rest.starts_with("("))
      return Expr::var(name);
    if (name == "min" || name == "max") {
      accept("(");
      std::vector<Expr> operands;
      do {
        auto operand = parseSum();
        if (!operand)
          return std::nullopt;
        operands.push_back(*operand);
      } while (accept(","));
      if (!accept(")"))
        return fail("expected ')'");
      return name == "min" ? Expr::min(operands) : Expr::max(operands);
    }
    // `end(t)`, the length of an early-stopping dim, is one variable.
    size_t close = rest.find(')');
    if (name != "end" || close == llvm::StringRef::npos)
      return fail("unknown function '" + name.str() + "'");
    std::string variable = (name + rest.take_front(close + 1)).str();
    rest = rest.drop_front(close + 1);
    return Expr::var(variable);
  }
};
} // namespace

std::optional<Expr> Expr::parse(llvm::StringRef text, std::string *error) {
  ExprParser parser(text);
  auto result = parser.parseAll();
  if (!result && error)
    *error = parser.error;
  return result;
}
