//===- Reports.cpp - Reports as tables and files --------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

using namespace timerl::rt;

static void reserve(Report &report) {
  report.points = static_cast<int64_t *>(
      allocate(report.points, sizeof(int64_t) * report.rank * report.capacity));
  report.values = static_cast<Scalar *>(
      allocate(report.values, sizeof(Scalar) * report.capacity));
}

void timerl::rt::prepareReports() {
  for (int k = 0; k < program.numReports; ++k)
    reserve(program.reports[k]);
}

extern "C" void timerl_rt_report(int64_t number, int64_t rank,
                                 const int64_t *point, int64_t bits) {
  Report &report = program.reports[number];
  if (report.count == report.capacity) {
    report.capacity = report.capacity ? 2 * report.capacity : 64;
    reserve(report);
  }
  memcpy(report.points + rank * report.count, point, sizeof(int64_t) * rank);
  report.values[report.count++].integer = bits;
  if (interrupted)
    stopEarly();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

void timerl::rt::printScalar(char *buffer, Type type, Scalar value) {
  if (type == Type::Bool) {
    strcpy(buffer, value.integer ? "true" : "false");
    return;
  }
  if (type == Type::I32 || type == Type::I64 || type == Type::U8) {
    sprintf(buffer, "%" PRId64, value.integer);
    return;
  }
  double number = value.floating;
  if (!isfinite(number)) {
    strcpy(buffer, isnan(number) ? "nan" : number < 0 ? "-inf" : "inf");
    return;
  }
  // The fewest digits that read back; then the shorter of the two notations,
  // the plain one when they are equally long.
  char scientific[64];
  int digits = 0;
  for (; digits < 17; ++digits) {
    sprintf(scientific, "%.*e", digits, number);
    if (type == Type::F32 ? strtof(scientific, nullptr) == (float)number
                          : strtod(scientific, nullptr) == number)
      break;
  }
  int exponent = atoi(strchr(scientific, 'e') + 1);
  int behind = digits > exponent ? digits - exponent : 0;
  snprintf(buffer, 400, "%.*f", behind, number);
  if (strlen(scientific) < strlen(buffer))
    strcpy(buffer, scientific);
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

namespace {
/// A value of a report at a point.
struct Cell {
  const int64_t *point;
  int rank, column;
  Scalar value;
};
} // namespace

static int comparePoints(const Cell &x, const Cell &y) {
  for (int k = 0; k < x.rank; ++k)
    if (x.point[k] != y.point[k])
      return x.point[k] < y.point[k] ? -1 : 1;
  return 0;
}
static int compareCells(const void *x, const void *y) {
  const Cell &a = *static_cast<const Cell *>(x),
             &b = *static_cast<const Cell *>(y);
  int order = comparePoints(a, b);
  return order ? order : a.column - b.column;
}

static bool sameDims(const Report &x, const Report &y) {
  if (x.rank != y.rank)
    return false;
  for (int k = 0; k < x.rank; ++k)
    if (strcmp(x.dims[k], y.dims[k]))
      return false;
  return true;
}

/// Calls `row(cells, count)` for each point at which a report like `first` has
/// a value, in order.
template <typename Row>
static void eachRow(const Report &first, Row row) {
  int64_t count = 0;
  for (int k = 0; k < program.numReports; ++k)
    if (sameDims(first, program.reports[k]))
      count += program.reports[k].count;
  auto *cells = static_cast<Cell *>(allocate(nullptr, sizeof(Cell) * count));
  int64_t next = 0;
  for (int k = 0; k < program.numReports; ++k) {
    const Report &report = program.reports[k];
    if (!sameDims(first, report))
      continue;
    for (int64_t n = 0; n < report.count; ++n)
      cells[next++] = {report.points + n * report.rank, report.rank, k,
                       report.values[n]};
  }
  qsort(cells, count, sizeof(Cell), compareCells);
  for (int64_t begin = 0; begin < count;) {
    int64_t end = begin + 1;
    while (end < count && !comparePoints(cells[begin], cells[end]))
      ++end;
    row(cells + begin, end - begin);
    begin = end;
  }
  free(cells);
}

/// Whether no earlier report has the same dims.
static bool leads(int number) {
  for (int k = 0; k < number; ++k)
    if (sameDims(program.reports[k], program.reports[number]))
      return false;
  return true;
}

static void printTable(FILE *file, int leader) {
  const Report &first = program.reports[leader];
  int *widths = static_cast<int *>(
      allocate(nullptr, sizeof(int) * (first.rank + program.numReports)));
  char text[400];
  auto widen = [&](int &width, const char *word) {
    int length = static_cast<int>(strlen(word));
    width = length > width ? length : width;
  };
  for (int k = 0; k < first.rank; ++k)
    widths[k] = static_cast<int>(strlen(first.dims[k]));
  for (int k = 0; k < program.numReports; ++k)
    widths[first.rank + k] = static_cast<int>(strlen(program.reports[k].name));
  eachRow(first, [&](const Cell *cells, int64_t count) {
    for (int k = 0; k < first.rank; ++k) {
      sprintf(text, "%" PRId64, cells->point[k]);
      widen(widths[k], text);
    }
    for (int64_t n = 0; n < count; ++n) {
      printScalar(text, program.reports[cells[n].column].type, cells[n].value);
      widen(widths[first.rank + cells[n].column], text);
    }
  });
  bool begun = false;
  auto put = [&](int width, const char *word) {
    fprintf(file, "%s%*s", begun ? "  " : "", width, word);
    begun = true;
  };
  for (int k = 0; k < first.rank; ++k)
    put(widths[k], first.dims[k]);
  for (int k = 0; k < program.numReports; ++k)
    if (sameDims(first, program.reports[k]))
      put(widths[first.rank + k], program.reports[k].name);
  fputc('\n', file);
  eachRow(first, [&](const Cell *cells, int64_t count) {
    begun = false;
    for (int k = 0; k < first.rank; ++k) {
      sprintf(text, "%" PRId64, cells->point[k]);
      put(widths[k], text);
    }
    int64_t n = 0;
    for (int k = 0; k < program.numReports; ++k) {
      if (!sameDims(first, program.reports[k]))
        continue;
      text[0] = 0;
      if (n < count && cells[n].column == k)
        printScalar(text, program.reports[k].type, cells[n++].value);
      put(widths[first.rank + k], text);
    }
    fputc('\n', file);
  });
  free(widths);
}

void timerl::rt::printTables(FILE *file) {
  for (int k = 0; k < program.numReports; ++k)
    if (leads(k)) {
      if (k)
        fputc('\n', file);
      printTable(file, k);
    }
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

bool timerl::rt::writeCsv(const char *path) {
  char *temporary;
  FILE *file = beginFile(path, &temporary);
  if (!file)
    return false;
  // Every dim once, in the order of first mention.
  const char **dims = nullptr;
  int numDims = 0;
  for (int k = 0; k < program.numReports; ++k)
    for (int n = 0; n < program.reports[k].rank; ++n) {
      bool known = false;
      for (int m = 0; m < numDims; ++m)
        known |= !strcmp(dims[m], program.reports[k].dims[n]);
      if (known)
        continue;
      dims = static_cast<const char **>(
          allocate(dims, sizeof(char *) * (numDims + 1)));
      dims[numDims++] = program.reports[k].dims[n];
    }
  bool begun = false;
  auto put = [&](const char *text) {
    fprintf(file, "%s%s", begun ? "," : "", text);
    begun = true;
  };
  auto endLine = [&] {
    fputc('\n', file);
    begun = false;
  };
  for (int k = 0; k < numDims; ++k)
    put(dims[k]);
  for (int k = 0; k < program.numReports; ++k)
    put(program.reports[k].name);
  endLine();
  for (int leader = 0; leader < program.numReports; ++leader) {
    const Report &first = program.reports[leader];
    if (!leads(leader))
      continue;
    eachRow(first, [&](const Cell *cells, int64_t count) {
      char text[400];
      for (int k = 0; k < numDims; ++k) {
        text[0] = 0;
        for (int n = 0; n < first.rank; ++n)
          if (!strcmp(first.dims[n], dims[k]))
            sprintf(text, "%" PRId64, cells->point[n]);
        put(text);
      }
      int64_t n = 0;
      for (int k = 0; k < program.numReports; ++k) {
        text[0] = 0;
        if (n < count && cells[n].column == k)
          printScalar(text, program.reports[k].type, cells[n++].value);
        put(text);
      }
      endLine();
    });
  }
  return finishFile(file, temporary, path);
}

bool timerl::rt::writeJsonLines(const char *path) {
  char *temporary;
  FILE *file = beginFile(path, &temporary);
  if (!file)
    return false;
  for (int leader = 0; leader < program.numReports; ++leader) {
    const Report &first = program.reports[leader];
    if (!leads(leader))
      continue;
    eachRow(first, [&](const Cell *cells, int64_t count) {
      const char *separator = "{";
      for (int k = 0; k < first.rank; ++k) {
        fprintf(file, "%s\"%s\": %" PRId64, separator, first.dims[k],
                cells->point[k]);
        separator = ", ";
      }
      for (int64_t n = 0; n < count; ++n) {
        const Report &report = program.reports[cells[n].column];
        bool floating = report.type == Type::F32 || report.type == Type::F64;
        bool number = !floating || isfinite(cells[n].value.floating);
        char text[400];
        printScalar(text, report.type, cells[n].value);
        fprintf(file, number ? "%s\"%s\": %s" : "%s\"%s\": \"%s\"", separator,
                report.name, text);
        separator = ", ";
      }
      fputs("}\n", file);
    });
  }
  return finishFile(file, temporary, path);
}
