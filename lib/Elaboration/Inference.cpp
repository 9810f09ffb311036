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
  if (auto it = equationStructures.find(&equation);
      it != equationStructures.end())
    return it->second;
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

const Structure *Elaborator::structureOfTensor(TensorInfo &tensor,
                                               SourceSpan use) {
  switch (tensor.state) {
  case TensorInfo::State::Known:
    return &tensor.structure;
  case TensorInfo::State::Failed:
    return nullptr;
  case TensorInfo::State::InProgress: {
    if (!tensor.provisional)
      throw Blocked{&tensor};
    size_t depthOfIt =
        llvm::find(inferenceStack, &tensor) - inferenceStack.begin();
    taint = std::min(taint, depthOfIt);
    return &*tensor.provisional;
  }
  case TensorInfo::State::Unknown:
    break;
  }
  if (tensor.annotation) {
    tensor.structure = *tensor.annotation;
    tensor.state = TensorInfo::State::Known;
    return &tensor.structure;
  }
  tensor.state = TensorInfo::State::InProgress;
  size_t level = inferenceStack.size();
  inferenceStack.push_back(&tensor);
  size_t outerTaint = taint, lowest = SIZE_MAX;
  TensorInfo *blockedOn = nullptr;
  bool failed = false;
  // A second round serves equations that blocked before a weak type was known.
  for (unsigned round = 0; round < 2; ++round) {
    bool anyBlocked = false;
    taint = SIZE_MAX;
    for (EquationInfo *equation : tensor.equations) {
      if (!equation->valid || !equation->rhs) {
        failed = true;
        continue;
      }
      std::optional<Structure> inferred;
      try {
        inferred = inferEquation(*equation);
      } catch (const Blocked &blocked) {
        anyBlocked = true;
        // Blocked on something further out: that one has to try another way
        // first.
        if (blocked.on != &tensor && !blockedOn)
          blockedOn = blocked.on;
        continue;
      }
      if (!inferred) {
        failed = true;
        continue;
      }
      if (equation->targets.size() > 1) {
        if (inferred->kind == Structure::Kind::Leaf ||
            inferred->children.size() != equation->targets.size()) {
          failed = true;
          continue;
        }
        unsigned k =
            llvm::find(equation->targets, &tensor) - equation->targets.begin();
        Structure own = inferred->children[k];
        inferred = own;
      }
      if (tensor.provisional)
        refine(*tensor.provisional, *inferred);
      else
        tensor.provisional = *inferred;
      if (!tensor.provisional->anyWeak())
        break;
    }
    lowest = std::min(lowest, taint);
    anyBlocked |= taint <= level;
    if (!anyBlocked || !tensor.provisional || !tensor.provisional->anyWeak())
      break;
  }
  taint = lowest;
  inferenceStack.pop_back();
  size_t ownTaint = taint;
  taint = std::min(outerTaint, ownTaint >= level ? SIZE_MAX : ownTaint);
  std::optional<Structure> found = tensor.provisional;
  tensor.provisional.reset();
  if (!found) {
    if (blockedOn && blockedOn->state == TensorInfo::State::InProgress) {
      tensor.state = TensorInfo::State::Unknown;
      throw Blocked{blockedOn};
    }
    tensor.state = TensorInfo::State::Failed;
    if (!failed && !scratchDepth)
      error("E0213", tensor.span,
            "the type of `" + tensor.name +
                "` cannot be told: each of its equations depends on itself")
          .suggest("say it: `" + tensor.name + "[...] : f32 = ...`");
    else if (!failed)
      untold.push_back(&tensor);
    return nullptr;
  }
  if (found->anyWeak() && ownTaint < level) {
    // Its dtype may yet follow from the tensor whose type is being inferred.
    tensor.state = TensorInfo::State::Unknown;
    tensor.structure = *found;
    return &tensor.structure;
  }
  harden(*found);
  tensor.structure = *found;
  tensor.state = TensorInfo::State::Known;
  return &tensor.structure;
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
