//===- Inference.cpp - Types of recurrent tensors -------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The type of a tensor is that of the first of its equations whose type can be
// told. An equation is elaborated for its type alone, into a module that is
// thrown away; a read of a tensor whose type is being inferred either blocks
// (then another equation is tried) or, when an earlier equation gave a weak
// type such as `0.0`, goes by that.
//
// Tensors whose types depend on each other are found as Tarjan finds strongly
// connected components ("Depth-first search and linear graph algorithms",
// 1972): each inference knows the outermost one that it went by. The first
// tensor of a component is inferred again, round by round, until no type of the
// component changes; in a round each tensor is looked at once.
//
//===----------------------------------------------------------------------===//

#include "Scopes.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::elaboration;

Structure Elaborator::structureOf(const Term &value) {
  Structure structure;
  if (value.isAggregate()) {
    structure.kind = value.kind == Term::Kind::Record ? Structure::Kind::Record
                                                      : Structure::Kind::Tuple;
    structure.names = value.names;
    for (const Term &element : value.elements)
      structure.children.push_back(structureOf(element));
    return structure;
  }
  Type type = elementTypeOf(value);
  if (!type) {
    structure.weak = true;
    type =
        isFloatValue(value) ? Type(builder.getF32Type()) : builder.getI32Type();
  }
  structure.type = trl::getTensorType(lengthsOf(value), type);
  return structure;
}

/// Leaves that one equation knows and the other does not.
static void refine(Structure &weak, const Structure &other) {
  if (!weak.sameNesting(other))
    return;
  if (weak.kind == Structure::Kind::Leaf) {
    if (weak.weak &&
        (!other.weak || isa<FloatType>(other.type.getElementType())))
      weak = other;
    return;
  }
  for (unsigned k = 0; k < weak.children.size(); ++k)
    refine(weak.children[k], other.children[k]);
}

static void harden(Structure &structure) {
  structure.weak = false;
  for (Structure &child : structure.children)
    harden(child);
}

std::optional<Structure> Elaborator::inferEquation(EquationInfo &equation) {
  Scratch scratch(*this);
  Inside inside(*this, equation);
  trl::EquationOp draft = trl::EquationOp::create(
      builder, builder.getUnknownLoc(), ArrayRef<trl::IterAttr>(),
      Expr::boolean(true), ArrayRef<StringRef>(),
      ArrayRef<SmallVector<Expr>>());
  inside.enter(draft, draft.getBody());
  Term value = evaluate(*equation.rhs, indexEnvironment(equation));
  std::optional<Structure> result;
  if (isStorable(value))
    result = structureOf(value);
  return result;
}

/// Is it data through and through?
bool Elaborator::isStorable(const Term &value) {
  if (value.isAggregate())
    return llvm::all_of(value.elements, [&](const Term &element) {
      return isStorable(element);
    });
  return value.isData();
}

static bool operator==(const Structure &a, const Structure &b) {
  if (!a.sameNesting(b) || a.weak != b.weak || a.type != b.type)
    return false;
  return llvm::equal(a.children, b.children,
                     [](const auto &x, const auto &y) { return x == y; });
}

size_t Elaborator::levelOf(const TensorInfo &tensor) const {
  return llvm::find(inferenceStack, &tensor) - inferenceStack.begin();
}

/// Is there nothing yet to go by in place of its type?
static bool isOpen(const TensorInfo &tensor) {
  return tensor.state == TensorInfo::State::InProgress && !tensor.provisional;
}

Elaborator::Attempt Elaborator::attemptInference(TensorInfo &tensor) {
  Attempt attempt;
  std::optional<Structure> before = tensor.provisional;
  for (EquationInfo *equation : tensor.equations) {
    if (!equation->valid || !equation->rhs)
      continue;
    std::optional<Structure> inferred;
    try {
      inferred = inferEquation(*equation);
    } catch (const Blocked &blocked) {
      taint = std::min(taint, levelOf(*blocked.on));
      // Blocked on something further out: that one has to try another way
      // first.
      if (blocked.on != &tensor && !attempt.blockedOn)
        attempt.blockedOn = blocked.on;
      continue;
    }
    if (!inferred)
      continue;
    if (equation->targets.size() > 1) {
      if (inferred->kind == Structure::Kind::Leaf ||
          inferred->children.size() != equation->targets.size())
        continue;
      unsigned k =
          llvm::find(equation->targets, &tensor) - equation->targets.begin();
      Structure own = inferred->children[k];
      inferred = own;
    }
    if (attempt.found)
      refine(*attempt.found, *inferred);
    else
      attempt.found = *inferred;
    if (!before)
      tensor.provisional = attempt.found;
    if (!attempt.found->anyWeak())
      break;
  }
  inferenceChanged |=
      !attempt.found != !before || (before && !(*attempt.found == *before));
  tensor.provisional = attempt.found;
  return attempt;
}

const Structure *Elaborator::structureOfTensor(TensorInfo &tensor) {
  switch (tensor.state) {
  case TensorInfo::State::Known:
    return &tensor.structure;
  case TensorInfo::State::Failed:
    return nullptr;
  case TensorInfo::State::InProgress:
    if (!tensor.provisional)
      throw Blocked{&tensor};
    taint = std::min(taint, levelOf(tensor));
    return &*tensor.provisional;
  case TensorInfo::State::Unknown:
    break;
  }
  if (tensor.annotation) {
    tensor.structure = *tensor.annotation;
    tensor.state = TensorInfo::State::Known;
    return &tensor.structure;
  }
  // What this round has found out already.
  if (!inferenceStack.empty() && tensor.round == inferenceRound) {
    if (tensor.blockedOn && isOpen(*tensor.blockedOn))
      throw Blocked{tensor.blockedOn};
    if (!tensor.blockedOn) {
      taint = std::min(taint, tensor.taint);
      return tensor.provisional ? &*tensor.provisional : nullptr;
    }
  }
  return inferTensor(tensor);
}

const Structure *Elaborator::inferTensor(TensorInfo &tensor) {
  size_t level = inferenceStack.size(), outerTaint = taint;
  llvm::SaveAndRestore<unsigned> round(inferenceRound);
  if (level == 0)
    inferenceRound = ++inferenceRounds;
  unsigned outerRound = inferenceRound;
  llvm::erase(tentative, &tensor);
  tensor.state = TensorInfo::State::InProgress;
  inferenceStack.push_back(&tensor);
  Attempt attempt;
  bool anyChange = inferenceChanged;
  // Types only grow from round to round, but for what errors do to them.
  for (unsigned count = 0; count < 100; ++count) {
    taint = SIZE_MAX;
    inferenceChanged = false;
    attempt = attemptInference(tensor);
    anyChange |= inferenceChanged;
    if (!inferenceChanged || taint != level)
      break;
    inferenceRound = ++inferenceRounds;
  }
  inferenceChanged = anyChange;
  inferenceStack.pop_back();
  tensor.taint = taint;
  tensor.round = outerRound;
  tensor.blockedOn = nullptr;
  bool isInner = taint < level;
  taint = std::min(outerTaint, isInner ? taint : SIZE_MAX);
  tensor.state = TensorInfo::State::Unknown;
  // Those that went by it, and by nothing further out.
  std::vector<TensorInfo *> members;
  llvm::copy_if(tentative, std::back_inserter(members),
                [&](TensorInfo *member) { return member->taint >= level; });
  if (isInner) {
    // Its type may yet follow from that of the tensor further out.
    for (TensorInfo *member : members) {
      member->taint = tensor.taint;
      if (member->round == inferenceRound)
        member->round = outerRound;
    }
    if (!attempt.found && attempt.blockedOn && isOpen(*attempt.blockedOn)) {
      tensor.blockedOn = attempt.blockedOn;
      throw Blocked{attempt.blockedOn};
    }
    tentative.push_back(&tensor);
    return tensor.provisional ? &*tensor.provisional : nullptr;
  }
  llvm::erase_if(tentative, [&](TensorInfo *member) {
    return llvm::is_contained(members, member);
  });
  members.push_back(&tensor);
  for (TensorInfo *member : members) {
    bool isCurrent = member == &tensor || member->round == inferenceRound;
    if (member->provisional && isCurrent) {
      harden(*member->provisional);
      member->structure = *member->provisional;
      member->state = TensorInfo::State::Known;
    }
    member->provisional.reset();
    member->round = 0;
  }
  if (attempt.found)
    return &tensor.structure;
  tensor.state = TensorInfo::State::Failed;
  return nullptr;
}

/// The leaves of a value as a tensor holds them; reports what does not fit.
std::optional<std::vector<mlir::Value>>
Elaborator::convertTo(const Term &value, const Structure &structure,
                      SourceSpan span, StringRef what) {
  std::vector<mlir::Value> leaves;
  std::function<bool(const Term &, const Structure &, const std::string &)>
      convert = [&](const Term &v, const Structure &s,
                    const std::string &path) -> bool {
    std::string place = what.str() + (path.empty() ? "" : "." + path);
    if (s.kind != Structure::Kind::Leaf) {
      bool same = v.isAggregate() &&
                  (v.kind == Term::Kind::Record) ==
                      (s.kind == Structure::Kind::Record) &&
                  v.names == s.names && v.elements.size() == s.children.size();
      if (!same) {
        error("E0304", span,
              "`" + place + "` holds " + structure.str() + ", but this is " +
                  (v.isAggregate() ? structureOf(v).str() : v.describe()));
        return false;
      }
      for (unsigned k = 0; k < s.children.size(); ++k) {
        std::string name =
            s.kind == Structure::Kind::Record ? s.names[k] : std::to_string(k);
        if (!convert(v.elements[k], s.children[k],
                     path.empty() ? name : path + "." + name))
          return false;
      }
      return true;
    }
    if (!v.isData()) {
      error("E0304", span,
            "`" + place + "` holds " + typeText(s.type) + ", but this is " +
                v.describe());
      return false;
    }
    Type own = elementTypeOf(v), expected = s.type.getElementType();
    if (v.kind == Term::Kind::Int || v.kind == Term::Kind::Float ||
        v.kind == Term::Kind::Weak)
      own = isFloatValue(v) && !isa<FloatType>(expected)
                ? Type(builder.getF32Type())
                : expected;
    bool weakIntoBool =
        v.isWeak() && v.kind != Term::Kind::Cond && expected.isInteger(1);
    if ((own && own != expected) || weakIntoBool) {
      std::string text = typeText(RankedTensorType::get({}, expected));
      error("E0301", span,
            "`" + place + "` holds " + typeText(s.type) + ", but this is " +
                (v.isWeak() ? v.describe()
                            : typeText(trl::getTensorType(lengthsOf(v), own))))
          .suggest("convert it: `" + text + "(...)`");
      return false;
    }
    std::vector<Expr> lengths = lengthsOf(v);
    SmallVector<Expr> want = trl::getLengths(s.type);
    if (ArrayRef<Expr>(lengths) != ArrayRef<Expr>(want)) {
      std::string have = typeText(trl::getTensorType(lengths, expected));
      error("E0302", span,
            "`" + place + "` holds " + typeText(s.type) + ", but this is " +
                have);
      return false;
    }
    mlir::Value leaf = materialize(v, expected, span);
    if (!leaf)
      return false;
    leaves.push_back(leaf);
    return true;
  };
  if (value.isError() || !convert(value, structure, ""))
    return std::nullopt;
  return leaves;
}
