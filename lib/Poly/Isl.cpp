//===- Isl.cpp - Owning handles for isl objects ---------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Poly/Isl.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cstdlib>
#include <isl/ast_build.h>
#include <isl/ilp.h>
#include <isl/options.h>
#include <isl/point.h>
#include <vector>

using namespace timerl::poly;

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

IslContext::IslContext() : ctx(isl_ctx_alloc()) {
  isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
  isl_options_set_ast_build_detect_min_max(ctx, 1);
}

IslContext::~IslContext() { isl_ctx_free(ctx); }

bool IslContext::failed() const {
  return isl_ctx_last_error(ctx) != isl_error_none;
}

std::string IslContext::message() const {
  const char *text = isl_ctx_last_error_msg(ctx);
  return text ? text : "";
}

void IslContext::clear() { isl_ctx_reset_error(ctx); }

OperationLimit::OperationLimit(IslContext &context, uint64_t operations)
    : context(context) {
  isl_ctx_reset_operations(context);
  isl_ctx_set_max_operations(context, operations);
}

OperationLimit::~OperationLimit() {
  isl_ctx_set_max_operations(context, 0);
  isl_ctx_reset_operations(context);
  context.clear();
}

//===----------------------------------------------------------------------===//
// Everyday operations
//===----------------------------------------------------------------------===//

namespace timerl::poly {

Set operator&(const Set &a, const Set &b) {
  return Set(isl_set_intersect(a.copy(), b.copy()));
}
Set operator|(const Set &a, const Set &b) {
  return Set(isl_set_union(a.copy(), b.copy()));
}
Set operator-(const Set &a, const Set &b) {
  return Set(isl_set_subtract(a.copy(), b.copy()));
}
Map operator&(const Map &a, const Map &b) {
  return Map(isl_map_intersect(a.copy(), b.copy()));
}
Map operator|(const Map &a, const Map &b) {
  return Map(isl_map_union(a.copy(), b.copy()));
}
Map operator-(const Map &a, const Map &b) {
  return Map(isl_map_subtract(a.copy(), b.copy()));
}
Map operator&(const Map &a, const Set &domain) {
  return Map(isl_map_intersect_domain(a.copy(), domain.copy()));
}

bool isEmpty(const Set &set) {
  return isl_set_is_empty(set.get()) == isl_bool_true;
}
bool isEmpty(const Map &map) {
  return isl_map_is_empty(map.get()) == isl_bool_true;
}
bool isSubset(const Set &a, const Set &b) {
  return isl_set_is_subset(a.get(), b.get()) == isl_bool_true;
}
bool isEqual(const Set &a, const Set &b) {
  return isl_set_is_equal(a.get(), b.get()) == isl_bool_true;
}
Set domainOf(const Map &map) { return Set(isl_map_domain(map.copy())); }
Set rangeOf(const Map &map) { return Set(isl_map_range(map.copy())); }
Map reverse(const Map &map) { return Map(isl_map_reverse(map.copy())); }
Map compose(const Map &a, const Map &b) {
  return Map(isl_map_apply_range(a.copy(), b.copy()));
}
Set apply(const Set &set, const Map &map) {
  return Set(isl_set_apply(set.copy(), map.copy()));
}

Map MapPool::unique(const Map &map) {
  if (!map)
    return map;
  llvm::SmallVector<Map> &same = byHash[isl_map_get_hash(map.get())];
  for (const Map &known : same)
    if (isl_map_plain_is_equal(known.get(), map.get()) == isl_bool_true)
      return known;
  same.push_back(map);
  return map;
}

Set forgetParameters(const Set &set, llvm::ArrayRef<std::string> names) {
  Set result = set;
  for (const std::string &name : names) {
    int place = isl_set_find_dim_by_name(result.get(), isl_dim_param,
                                         escapeName(name).c_str());
    if (place >= 0)
      result =
          Set(isl_set_eliminate(result.release(), isl_dim_param, place, 1));
  }
  return result;
}

Map forgetParameters(const Map &map, llvm::ArrayRef<std::string> names) {
  Map result = map;
  for (const std::string &name : names) {
    int place = isl_map_find_dim_by_name(result.get(), isl_dim_param,
                                         escapeName(name).c_str());
    if (place >= 0)
      result =
          Map(isl_map_eliminate(result.release(), isl_dim_param, place, 1));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string takeText(char *text) {
  std::string result = text ? text : "";
  free(text);
  return result;
}

std::string toText(const Set &set) {
  return takeText(isl_set_to_str(set.get()));
}
std::string toText(const Map &map) {
  return takeText(isl_map_to_str(map.get()));
}
std::string toText(const PwAff &value) {
  return takeText(isl_pw_aff_to_str(value.get()));
}
std::string toText(const UnionMap &map) {
  return takeText(isl_union_map_to_str(map.get()));
}

Set parseSet(IslContext &context, llvm::StringRef text) {
  return Set(isl_set_read_from_str(context, text.str().c_str()));
}
Map parseMap(IslContext &context, llvm::StringRef text) {
  return Map(isl_map_read_from_str(context, text.str().c_str()));
}

/// Whether `name` is isl's, or of the form by which equations and outputs are
/// known (`E12`, `O3`).
static bool isReserved(llvm::StringRef name) {
  static const llvm::StringRef keywords[] = {
      "and",   "ceil",   "ceild",   "div",      "exist", "exists", "false",
      "floor", "floord", "implies", "infinity", "infty", "max",    "min",
      "mod",   "NaN",    "not",     "or",       "rat",   "true"};
  for (llvm::StringRef keyword : keywords)
    if (name.equals_insensitive(keyword))
      return true;
  return name.size() > 1 && (name[0] == 'E' || name[0] == 'O') &&
         llvm::all_of(name.drop_front(), llvm::isDigit);
}

std::string escapeName(llvm::StringRef name) {
  std::string result;
  if (isReserved(name) || (!name.empty() && llvm::isDigit(name[0])))
    result = "_k";
  for (char c : name) {
    if (llvm::isAlnum(c)) {
      result += c;
      continue;
    }
    result += '_';
    switch (c) {
    case '_':
      result += '_';
      break;
    case '\'':
      result += 'p';
      break;
    case '.':
      result += 'd';
      break;
    case '(':
      result += 'o';
      break;
    case ')':
      result += 'c';
      break;
    default:
      result += 'x';
      result += llvm::hexdigit((unsigned char)c >> 4);
      result += llvm::hexdigit(c & 15);
    }
  }
  return result;
}

std::string unescapeName(llvm::StringRef identifier) {
  std::string result;
  llvm::StringRef rest = identifier;
  rest.consume_front("_k");
  while (!rest.empty()) {
    char c = rest[0];
    rest = rest.drop_front();
    if (c != '_') {
      result += c;
      continue;
    }
    if (rest.empty())
      return identifier.str();
    char code = rest[0];
    rest = rest.drop_front();
    if (code == '_') {
      result += '_';
    } else if (code == 'p') {
      result += '\'';
    } else if (code == 'd') {
      result += '.';
    } else if (code == 'o') {
      result += '(';
    } else if (code == 'c') {
      result += ')';
    } else if (code == 'x' && rest.size() >= 2 && llvm::isHexDigit(rest[0]) &&
               llvm::isHexDigit(rest[1])) {
      result += char(llvm::hexFromNibbles(rest[0], rest[1]));
      rest = rest.drop_front(2);
    } else {
      return identifier.str();
    }
  }
  return result;
}

static std::string nameOrEmpty(const char *name) {
  return name ? unescapeName(name) : std::string();
}

std::string tupleName(const Set &set) {
  bool named = isl_set_has_tuple_name(set.get()) == isl_bool_true;
  return named ? nameOrEmpty(isl_set_get_tuple_name(set.get())) : "";
}
static std::string mapTupleName(const Map &map, isl_dim_type side) {
  bool named = isl_map_has_tuple_name(map.get(), side) == isl_bool_true;
  return named ? nameOrEmpty(isl_map_get_tuple_name(map.get(), side)) : "";
}
std::string inputName(const Map &map) { return mapTupleName(map, isl_dim_in); }
std::string outputName(const Map &map) {
  return mapTupleName(map, isl_dim_out);
}

//===----------------------------------------------------------------------===//
// Iteration in a fixed order
//===----------------------------------------------------------------------===//

void forEachMap(const UnionMap &maps, llvm::function_ref<void(Map)> visit) {
  std::vector<std::pair<std::string, Map>> list;
  isl_union_map_foreach_map(
      maps.get(),
      [](isl_map *given, void *user) {
        Map map(given);
        std::string key =
            inputName(map) + " -> " + outputName(map) + ": " + toText(map);
        static_cast<decltype(list) *>(user)->emplace_back(std::move(key),
                                                          std::move(map));
        return isl_stat_ok;
      },
      &list);
  llvm::sort(list, llvm::less_first());
  for (auto &entry : list)
    visit(std::move(entry.second));
}

void forEachSet(const UnionSet &sets, llvm::function_ref<void(Set)> visit) {
  std::vector<std::pair<std::string, Set>> list;
  isl_union_set_foreach_set(
      sets.get(),
      [](isl_set *given, void *user) {
        Set set(given);
        std::string key = tupleName(set) + ": " + toText(set);
        static_cast<decltype(list) *>(user)->emplace_back(std::move(key),
                                                          std::move(set));
        return isl_stat_ok;
      },
      &list);
  llvm::sort(list, llvm::less_first());
  for (auto &entry : list)
    visit(std::move(entry.second));
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

std::optional<Point> leastPoint(const Set &set) {
  unsigned rank = isl_set_dim(set.get(), isl_dim_set);
  unsigned numParams = isl_set_dim(set.get(), isl_dim_param);
  if (!set || isEmpty(set))
    return std::nullopt;
  Point point;
  Set flat(set);
  for (unsigned k = 0; k < numParams; ++k)
    point.parameters.emplace_back(
        unescapeName(isl_set_get_dim_name(flat.get(), isl_dim_param, k)), 0);
  flat = Set(isl_set_reset_tuple_id(flat.release()));
  flat = Set(isl_set_move_dims(flat.release(), isl_dim_set, rank, isl_dim_param,
                               0, numParams));
  // Each coordinate in turn takes its least value; a coordinate without one
  // ends the search, and whatever point is left is taken.
  for (unsigned k = 0; k < rank + numParams; ++k) {
    isl_aff *coordinate = isl_aff_var_on_domain(
        isl_local_space_from_space(isl_set_get_space(flat.get())), isl_dim_set,
        k);
    Isl<isl_val> least(isl_set_min_val(flat.get(), coordinate));
    isl_aff_free(coordinate);
    if (!least || isl_val_is_int(least.get()) != isl_bool_true)
      break;
    flat =
        Set(isl_set_fix_val(flat.release(), isl_dim_set, k, least.release()));
  }
  Isl<isl_point> found(isl_set_sample_point(flat.release()));
  if (!found || isl_point_is_void(found.get()) != isl_bool_false)
    return std::nullopt;
  for (unsigned k = 0; k < rank + numParams; ++k) {
    Isl<isl_val> value(
        isl_point_get_coordinate_val(found.get(), isl_dim_set, k));
    int64_t number = isl_val_get_num_si(value.get());
    if (k < rank)
      point.coordinates.push_back(number);
    else
      point.parameters[k - rank].second = number;
  }
  return point;
}

} // namespace timerl::poly
