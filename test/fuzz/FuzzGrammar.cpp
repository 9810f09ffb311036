//===- FuzzGrammar.cpp - Programs from the grammar, whole and damaged -----===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The input's bytes choose productions of the grammar, so that what is tried is
// nearly always a program. The program as it is must parse without an error;
// with one token dropped, doubled or swapped it must get an answer.
//
//===----------------------------------------------------------------------===//

#include "FuzzCheck.h"
#include <vector>

namespace {
/// Writes a program; every choice takes a byte of the input.
class Generator {
public:
  Generator(const uint8_t *data, size_t size) : data(data), size(size) {}

  std::vector<std::string> program() {
    while (at < size && tokens.size() < 2000)
      statement();
    return std::move(tokens);
  }
  unsigned choose(unsigned n) { return at < size ? data[at++] % n : 0; }

private:
  void put(const char *text) { tokens.push_back(text); }
  template <typename... Texts>
  void put(const char *first, Texts... rest) {
    put(first);
    put(rest...);
  }
  void name() {
    static const char *const names[] = {"x",    "net", "t",  "over",  "until",
                                        "seed", "f",   "b'", "tuple", "as"};
    put(names[choose(10)]);
  }
  void reductionName() {
    static const char *const names[] = {"sum",  "mean",   "max", "min",
                                        "prod", "argmax", "all", "any"};
    put(names[choose(8)]);
  }
  /// `item` between commas, at least `least` times.
  template <typename Item>
  void list(Item item, unsigned least, const char *separator = ",") {
    unsigned count = least + choose(3);
    for (unsigned i = 0; i != count; ++i) {
      if (i)
        put(separator);
      item();
    }
  }

  void statement() {
    switch (choose(12)) {
    case 0:
      put("param");
      name();
      if (choose(2))
        put(":", "int");
      if (choose(2)) {
        put("=");
        expr();
      }
      break;
    case 1:
      put("let");
      name();
      put("=");
      expr();
      break;
    case 2:
      put("assert");
      expr();
      if (choose(2))
        put(",", "\"text \\n\"");
      break;
    case 3:
      put("arg");
      name();
      put(":", "f32", "=");
      expr();
      break;
    case 4:
      put("dim");
      name();
      put(":");
      expr();
      if (choose(2)) {
        put("until");
        expr();
      }
      if (choose(2))
        put("as", "seed");
      break;
    case 5:
      put("input");
      name();
      put(":", "f32", "[");
      list([&] { expr(); }, 0);
      put("]");
      if (choose(2)) {
        put("over", "(");
        list([&] { name(); }, 1);
        put(")");
      }
      break;
    case 6:
      put("import");
      list(
          [&] {
            switch (choose(3)) {
            case 0:
              put("dist", ".", "categorical");
              break;
            case 1:
              put("\"f.trl\"", "as", "m");
              break;
            default:
              put("nn");
            }
          },
          1);
      break;
    case 7:
      put("fn", "f", "(");
      if (choose(2))
        put("a", ":", "f32", ",", "b", "=", "1");
      put(")");
      if (choose(2))
        put("->", "(", "f32", ",", "i32", ")");
      put("=");
      expr();
      break;
    case 8:
      put("report");
      target();
      put("=");
      expr();
      if (choose(2)) {
        put("when");
        expr();
      }
      break;
    case 9:
      put("save");
      expr();
      break;
    default:
      equation();
      if (choose(3) == 0)
        put("otherwise");
    }
    put("\n");
  }
  void target() {
    name();
    if (!choose(2))
      return;
    put("[");
    list(
        [&] {
          expr();
          if (choose(2)) {
            put("in");
            expr();
            put(":");
            expr();
          }
        },
        1);
    put("]");
  }
  void equation() {
    target();
    if (choose(2)) {
      put(",");
      target();
    }
    put("=");
    expr();
  }

  void expr() {
    if (++depth > 12 || at >= size) {
      put("1");
    } else {
      switch (choose(9)) {
      case 0:
        put("if");
        expr();
        put("then");
        expr();
        put("else");
        expr();
        break;
      case 1:
        put("not");
        product();
        break;
      case 2:
        product();
        put(choose(2) ? "<" : "==");
        product();
        break;
      case 3:
        product();
        put(choose(2) ? "and" : "or");
        product();
        break;
      case 4:
        product();
        put(choose(2) ? "+" : "-");
        product();
        break;
      case 5:
        put("-");
        product();
        break;
      default:
        product();
      }
    }
    --depth;
  }
  /// What a reduction's body may be.
  void product() {
    primary();
    static const char *const operators[] = {"*", "/", "//", "%", "@", "^"};
    if (choose(3) == 0) {
      put(operators[choose(6)]);
      primary();
    }
  }
  void primary() {
    if (++depth > 12 || at >= size) {
      put("x");
      --depth;
      return;
    }
    switch (choose(14)) {
    case 0:
      put("1_000");
      break;
    case 1:
      put("2.5e-4");
      break;
    case 2:
      put("true");
      break;
    case 3:
      put("(");
      list([&] { expr(); }, 0);
      put(")");
      break;
    case 4:
      put("[");
      list([&] { expr(); }, 0);
      put("]");
      break;
    case 5:
      put("{", "a", ":");
      expr();
      put(",", "if", ":");
      expr();
      put("}");
      break;
    case 6:
      put("{");
      for (unsigned i = choose(3); i; --i) {
        if (choose(2)) {
          put("let");
          name();
          put("=");
          expr();
        } else {
          equation();
        }
        put(choose(2) ? ";" : "\n");
      }
      put("x", ";", "}");
      break;
    case 7:
      reductionName();
      put("(");
      list(
          [&] {
            name();
            put("in");
            expr();
            put(":");
            expr();
          },
          1);
      if (choose(2)) {
        put("when");
        expr();
      }
      put(")");
      product();
      break;
    case 8:
      put("fold", "(", "l", "in", "0", ":");
      expr();
      put(";", "h", "=");
      expr();
      put(")");
      product();
      break;
    case 9:
      name();
      put("[");
      list(
          [&] {
            if (choose(3) == 0) {
              put(":");
              return;
            }
            expr();
            if (choose(2)) {
              put(":");
              expr();
            }
          },
          1);
      put("]");
      break;
    case 10:
      put("g", "(");
      list([&] { expr(); }, 0);
      put(")");
      break;
    case 11:
      name();
      put(".", "field", ".", "0");
      break;
    default:
      name();
    }
    --depth;
  }

  const uint8_t *data;
  size_t size, at = 0;
  unsigned depth = 0;
  std::vector<std::string> tokens;
};
} // namespace

static std::string join(const std::vector<std::string> &tokens) {
  std::string text;
  for (const std::string &token : tokens)
    text += token + (token == "\n" ? "" : " ");
  return text;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 4)
    return 0;
  // The first bytes choose the damage, the others the program.
  unsigned damage = data[0] % 3;
  size_t place = data[1] + 256u * data[2];
  std::vector<std::string> tokens = Generator(data + 3, size - 3).program();
  std::string whole = join(tokens);
  if (timerl::checkFrontEnd(whole) != 0) {
    llvm::errs() << "refused, though the grammar makes it:\n" << whole;
    std::abort();
  }
  place %= tokens.size();
  switch (damage) {
  case 0:
    tokens.erase(tokens.begin() + place);
    break;
  case 1:
    tokens.insert(tokens.begin() + place, tokens[place]);
    break;
  default:
    std::swap(tokens[place], tokens[(place * 7 + 3) % tokens.size()]);
  }
  timerl::checkFrontEnd(join(tokens));
  return 0;
}
