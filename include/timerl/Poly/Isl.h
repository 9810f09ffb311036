//===- Isl.h - Owning handles for isl objects -------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// isl (S. Verdoolaege, "isl: An Integer Set Library for the Polyhedral Model",
// ICMS 2010) is the compiler's set library. `Isl<T>` owns an object, and the
// few operators below cover everyday use; the rest of isl's C interface is
// called with `get()` for `__isl_keep` and `copy()` or `release()` for
// `__isl_take`.
//
// isl reports failure by null results, which every function passes on. So a
// computation is written without checks, and asked at its end whether its
// context `failed()`: an operation limit was hit, or isl met an internal error.
// No object has a value then.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_POLY_ISL_H
#define TIMERL_POLY_ISL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <isl/aff.h>
#include <isl/ast.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/id.h>
#include <isl/map.h>
#include <isl/schedule.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/union_map.h>
#include <isl/union_set.h>
#include <isl/val.h>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace timerl::poly {

template <typename T>
struct IslType;
#define TIMERL_ISL_TYPE(NAME)                                                  \
  template <>                                                                  \
  struct IslType<isl_##NAME> {                                                 \
    static isl_##NAME *copy(isl_##NAME *p) { return isl_##NAME##_copy(p); }    \
    static void free(isl_##NAME *p) { isl_##NAME##_free(p); }                  \
  };
TIMERL_ISL_TYPE(aff)
TIMERL_ISL_TYPE(pw_aff)
TIMERL_ISL_TYPE(multi_aff)
TIMERL_ISL_TYPE(multi_pw_aff)
TIMERL_ISL_TYPE(multi_union_pw_aff)
TIMERL_ISL_TYPE(union_pw_aff)
TIMERL_ISL_TYPE(pw_multi_aff)
TIMERL_ISL_TYPE(basic_set)
TIMERL_ISL_TYPE(basic_map)
TIMERL_ISL_TYPE(set)
TIMERL_ISL_TYPE(map)
TIMERL_ISL_TYPE(union_set)
TIMERL_ISL_TYPE(union_map)
TIMERL_ISL_TYPE(space)
TIMERL_ISL_TYPE(local_space)
TIMERL_ISL_TYPE(val)
TIMERL_ISL_TYPE(id)
TIMERL_ISL_TYPE(point)
TIMERL_ISL_TYPE(constraint)
TIMERL_ISL_TYPE(constraint_list)
TIMERL_ISL_TYPE(schedule)
TIMERL_ISL_TYPE(schedule_constraints)
TIMERL_ISL_TYPE(ast_expr)
#undef TIMERL_ISL_TYPE

/// Owns one reference to an isl object; null after a failure.
template <typename T>
class Isl {
public:
  Isl() = default;
  /// Takes the reference that an isl function returned.
  explicit Isl(T *given) : object(given) {}
  Isl(const Isl &other) : object(other.copy()) {}
  Isl(Isl &&other) noexcept : object(other.release()) {}
  Isl &operator=(Isl other) noexcept {
    std::swap(object, other.object);
    return *this;
  }
  ~Isl() {
    if (object)
      IslType<T>::free(object);
  }

  T *get() const { return object; }
  T *copy() const { return object ? IslType<T>::copy(object) : nullptr; }
  T *release() { return std::exchange(object, nullptr); }
  explicit operator bool() const { return object; }

private:
  T *object = nullptr;
};

using Aff = Isl<isl_aff>;
using PwAff = Isl<isl_pw_aff>;
using Set = Isl<isl_set>;
using Map = Isl<isl_map>;
using UnionSet = Isl<isl_union_set>;
using UnionMap = Isl<isl_union_map>;
using Space = Isl<isl_space>;

/// An isl context. All objects made in it must be gone before it is.
class IslContext {
public:
  IslContext();
  ~IslContext();
  IslContext(const IslContext &) = delete;
  IslContext &operator=(const IslContext &) = delete;

  isl_ctx *get() const { return ctx; }
  operator isl_ctx *() const { return ctx; }

  /// Whether something failed since the last `clear()`, and why.
  bool failed() const;
  std::string message() const;
  void clear();

private:
  isl_ctx *ctx;
};

/// Bounds the work of isl inside a scope (in isl's own units, some 10 million a
/// second). When it is exceeded, results are null and the context has failed,
/// often with an error that follows from the first; after the scope it is
/// usable again. Scopes do not nest.
class OperationLimit {
public:
  OperationLimit(IslContext &context, uint64_t operations);
  ~OperationLimit();

private:
  IslContext &context;
};

//===----------------------------------------------------------------------===//
// Everyday operations
//===----------------------------------------------------------------------===//

Set operator&(const Set &a, const Set &b);
Set operator|(const Set &a, const Set &b);
Set operator-(const Set &a, const Set &b);
Map operator&(const Map &a, const Map &b);
Map operator|(const Map &a, const Map &b);
Map operator-(const Map &a, const Map &b);
Map operator&(const Map &a, const Set &domain); ///< restricts the domain

/// False for null, too: then the context has failed.
bool isEmpty(const Set &set);
bool isEmpty(const Map &map);
bool isSubset(const Set &a, const Set &b);
bool isEqual(const Set &a, const Set &b);
Set domainOf(const Map &map);
Set rangeOf(const Map &map);
Map reverse(const Map &map);
/// `b` after `a`: { x -> z : a(x, y), b(y, z) }.
Map compose(const Map &a, const Map &b);
Set apply(const Set &set, const Map &map);

/// Makes relations that look the same one object, which lives as long as the
/// pool: so addresses are keys for what is computed of them.
class MapPool {
public:
  /// The first relation that it was called with and that has the same space and
  /// constraints.
  Map unique(const Map &map);

private:
  std::map<uint32_t, llvm::SmallVector<Map>> byHash; // looked up only
};

/// The least set that contains this one for whatever values of these
/// parameters (by their names in the program): they no longer matter.
Set forgetParameters(const Set &set, llvm::ArrayRef<std::string> names);
Map forgetParameters(const Map &map, llvm::ArrayRef<std::string> names);

/// In order of the tuple names, unlike isl's own iteration, which is by hash.
void forEachMap(const UnionMap &maps, llvm::function_ref<void(Map)> visit);
void forEachSet(const UnionSet &sets, llvm::function_ref<void(Set)> visit);

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// An isl identifier for any name of the program: letters and digits stay, `_`
/// becomes `__`, a prime `_p`, a dot `_d`, parentheses `_o` and `_c`; isl's
/// keywords and the names that equations use get a `_k` in front.
std::string escapeName(llvm::StringRef name);
/// The name that `escapeName` was given; `identifier` itself if there is none.
std::string unescapeName(llvm::StringRef identifier);

std::string toText(const Set &set);
std::string toText(const Map &map);
std::string toText(const PwAff &value);
std::string toText(const UnionMap &map);
/// Null, and the context has failed, when the text is malformed.
Set parseSet(IslContext &context, llvm::StringRef text);
Map parseMap(IslContext &context, llvm::StringRef text);

/// Name of a set's tuple or of a map's two, unescaped; empty when it has none.
std::string tupleName(const Set &set);
std::string inputName(const Map &map);
std::string outputName(const Map &map);

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

/// A point of a parametric set: values of its dims, and of all parameters, by
/// unescaped name.
struct Point {
  llvm::SmallVector<int64_t> coordinates;
  llvm::SmallVector<std::pair<std::string, int64_t>> parameters;
};

/// The lexicographically least point, parameters last; none if the set is
/// empty. Of a set without a least point, any.
std::optional<Point> leastPoint(const Set &set);

} // namespace timerl::poly

#endif // TIMERL_POLY_ISL_H
