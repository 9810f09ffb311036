//===- Main.cpp - Command line and start of an executable -----------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace timerl::rt;

Program timerl::rt::program;
static const char *programName = "program";
static constexpr int maxThreads = 256;

void timerl::rt::fail(int exitCode, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s: error: ", programName);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(exitCode);
}

void *timerl::rt::allocate(void *old, uint64_t bytes) {
  void *memory = realloc(old, bytes ? bytes : 1);
  if (!memory)
    fail(1, "out of memory: %llu bytes are not to be had",
         static_cast<unsigned long long>(bytes));
  return memory;
}

/// A computed index is out of the range lo:hi that the program declares.
extern "C" void timerl_rt_outside(const char *tensor, const char *place,
                                  int64_t index, int64_t lo, int64_t hi) {
  fail(1,
       "%s%sindex %" PRId64 " of `%s` is outside of its declared range "
       "%" PRId64 ":%" PRId64,
       place, *place ? ": " : "", index, tensor, lo, hi);
}

/// Args leave a dim without points.
extern "C" void timerl_rt_empty(const char *dim, const char *place,
                                int64_t extent) {
  fail(2, "%s%sdim `%s` is empty: its extent is %" PRId64, place,
       *place ? ": " : "", dim, extent);
}

//===----------------------------------------------------------------------===//
// The description
//===----------------------------------------------------------------------===//

static Type typeNamed(const char *name) {
  // The compiler widens bytes to compute with them.
  if (!strcmp(name, "ui8") || !strcmp(name, "i16"))
    return Type::U8;
  return !strcmp(name, "i1")    ? Type::Bool
         : !strcmp(name, "i32") ? Type::I32
         : !strcmp(name, "i64") ? Type::I64
         : !strcmp(name, "f32") ? Type::F32
                                : Type::F64;
}
static const char *typeText(Type type) {
  return type == Type::Bool  ? "true or false"
         : type == Type::U8  ? "an integer from 0 to 255"
         : type == Type::I32 ? "an integer from -2147483648 to 2147483647"
         : type == Type::I64 ? "an integer of 64 bits"
                             : "a number";
}

/// Reads a whole word as a value of a type; false if it is none.
static bool parseScalar(const char *text, Type type, Scalar &value) {
  char *end = nullptr;
  errno = 0;
  switch (type) {
  case Type::Bool:
    if (!strcmp(text, "true") || !strcmp(text, "1"))
      value.integer = 1;
    else if (!strcmp(text, "false") || !strcmp(text, "0"))
      value.integer = 0;
    else
      return false;
    return true;
  case Type::U8:
  case Type::I32:
  case Type::I64:
    value.integer = strtoll(text, &end, 10);
    return *text && !*end && !errno &&
           (type == Type::I64 ||
            value.integer == (type == Type::U8 ? (uint8_t)value.integer
                                               : (int32_t)value.integer));
  case Type::F32:
    value.floating = strtof(text, &end);
    return *text && !*end;
  case Type::F64:
    value.floating = strtod(text, &end);
    return *text && !*end;
  }
  return false;
}

static void append(int64_t *&list, int size, int64_t value) {
  list = static_cast<int64_t *>(allocate(list, sizeof(int64_t) * (size + 1)));
  list[size] = value;
}

void timerl::rt::readDescription() {
  char *text = strdup(timerl_program_text), *rest = text;
  if (!text)
    fail(1, "out of memory");
  while (char *line = strsep(&rest, "\n")) {
    char *kind = strsep(&line, " ");
    if (!line)
      break;
    if (!strcmp(kind, "arena")) {
      program.arenaBytes = strtoll(line, nullptr, 10);
    } else if (!strcmp(kind, "scratch")) {
      program.scratchBytes = strtoll(line, nullptr, 10);
    } else if (!strcmp(kind, "sanitize")) {
      program.sanitizeGranule = strtoll(line, &line, 10);
      program.sanitizeRank = strtoll(line, nullptr, 10);
    } else if (!strcmp(kind, "buffer")) {
      program.buffers = static_cast<Buffer *>(
          allocate(program.buffers, sizeof(Buffer) * (program.numBuffers + 1)));
      Buffer &buffer = program.buffers[program.numBuffers++];
      buffer.offset = strtoll(strsep(&line, " "), nullptr, 10);
      buffer.bytes = strtoll(strsep(&line, " "), nullptr, 10);
      buffer.tensor = line;
    } else if (!strcmp(kind, "arg")) {
      program.args = static_cast<Arg *>(
          allocate(program.args, sizeof(Arg) * (program.numArgs + 1)));
      Arg &arg = program.args[program.numArgs++];
      arg.name = strsep(&line, " ");
      arg.type = typeNamed(strsep(&line, " "));
      parseScalar(line, arg.type, arg.value);
    } else if (!strcmp(kind, "input")) {
      program.inputs = static_cast<Input *>(
          allocate(program.inputs, sizeof(Input) * (program.numInputs + 1)));
      Input &input = program.inputs[program.numInputs++];
      input = Input();
      input.type = typeNamed(strsep(&line, " "));
      input.name = line;
    } else if (!strcmp(kind, "extent")) {
      Input &input = program.inputs[program.numInputs - 1];
      input.axes = static_cast<int64_t *>(
          allocate(input.axes, sizeof(int64_t) * (input.rank + 1)));
      input.axes[input.rank++] = strtoll(line, nullptr, 10);
    } else if (!strcmp(kind, "report")) {
      program.reports = static_cast<Report *>(
          allocate(program.reports, sizeof(Report) * (program.numReports + 1)));
      Report &report = program.reports[program.numReports++];
      report = Report();
      report.type = typeNamed(strsep(&line, " "));
      report.name = line;
    } else if (!strcmp(kind, "record")) {
      program.records = static_cast<Record *>(
          allocate(program.records, sizeof(Record) * (program.numRecords + 1)));
      Record &record = program.records[program.numRecords++];
      record = Record();
      record.values.type = typeNamed(strsep(&line, " "));
      record.values.name = line;
    } else if (!strcmp(kind, "position")) {
      Record &record = program.records[program.numRecords - 1];
      int64_t least = strtoll(strsep(&line, " "), nullptr, 10);
      append(record.least, record.positions, least);
      append(record.extents, record.positions, strtoll(line, nullptr, 10));
      ++record.positions;
      append(record.values.axes, record.values.rank,
             record.extents[record.positions - 1]);
      ++record.values.rank;
    } else if (!strcmp(kind, "length")) {
      Save &values = program.records[program.numRecords - 1].values;
      append(values.axes, values.rank, strtoll(line, nullptr, 10));
      ++values.rank;
    } else if (!strcmp(kind, "rows")) {
      program.reports[program.numReports - 1].capacity =
          strtoll(line, nullptr, 10);
    } else if (!strcmp(kind, "save")) {
      program.saves = static_cast<Save *>(
          allocate(program.saves, sizeof(Save) * (program.numSaves + 1)));
      Save &save = program.saves[program.numSaves++];
      save = Save();
      save.type = typeNamed(strsep(&line, " "));
      save.name = line;
    } else if (!strcmp(kind, "points")) {
      program.saves[program.numSaves - 1].points = strtoll(line, nullptr, 10);
    } else if (!strcmp(kind, "axis")) {
      Save &save = program.saves[program.numSaves - 1];
      save.axes = static_cast<int64_t *>(
          allocate(save.axes, sizeof(int64_t) * (save.rank + 1)));
      save.reached = static_cast<int64_t *>(
          allocate(save.reached, sizeof(int64_t) * (save.rank + 1)));
      char *end;
      save.axes[save.rank] = strtoll(line, &end, 10);
      save.reached[save.rank++] = strcmp(end, " at most") ? -1 : 0;
    } else {
      Report &report = program.reports[program.numReports - 1];
      report.dims = static_cast<char **>(
          allocate(report.dims, sizeof(char *) * (report.rank + 1)));
      report.dims[report.rank++] = line;
    }
  }
}

//===----------------------------------------------------------------------===//
// The command line
//===----------------------------------------------------------------------===//

/// Levenshtein distance of two short words.
static int distance(const char *a, const char *b) {
  int row[65], n = static_cast<int>(strlen(b));
  if (n > 64)
    return 64;
  for (int k = 0; k <= n; ++k)
    row[k] = k;
  for (int i = 1; a[i - 1]; ++i) {
    int diagonal = row[0];
    row[0] = i;
    for (int k = 1; k <= n; ++k) {
      int best = diagonal + (a[i - 1] != b[k - 1]);
      diagonal = row[k];
      best = row[k] + 1 < best ? row[k] + 1 : best;
      row[k] = row[k - 1] + 1 < best ? row[k - 1] + 1 : best;
    }
  }
  return row[n];
}

[[noreturn]] static void unknownOption(const char *name) {
  const char *nearest = nullptr;
  int least = 3;
  auto consider = [&](const char *known) {
    int apart = distance(name, known);
    if (apart < least) {
      least = apart;
      nearest = known;
    }
  };
  static const char *const own[] = {
      "help", "version", "seed",           "threads",      "metrics",
      "save", "input",   "print-schedule", "print-memory", "record"};
  for (const char *known : own)
    consider(known);
  for (int k = 0; k < program.numArgs; ++k)
    consider(program.args[k].name);
  if (nearest)
    fail(2, "unknown option `--%s`; did you mean `--%s`?", name, nearest);
  fail(2, "unknown option `--%s`; see `--help`", name);
}

static void printHelp() {
  printf("usage: %s [options]\n\n", programName);
  puts(
      "  --help              this text\n"
      "  --version           the compiler's version\n"
      "  --seed N            the seed of random draws (default 0)\n"
      "  --threads N         how many threads work (default: the processors);\n"
      "                      the results do not depend on it\n"
      "  --metrics csv:PATH  write the reports to a file, too; `jsonl:PATH`: "
      "one\n"
      "                      JSON object a line; both may be given\n"
      "  --save PATH         write what the program saves to an NPZ archive\n"
      "  --record PATH       write every tensor at every point to an NPZ "
      "archive,\n"
      "                      if compiled with --recordable\n"
      "  --print-schedule    the loops, statements and buffers, as JSON\n"
      "  --print-memory      the arena, and the place of each buffer in it");
  if (program.sanitizeGranule)
    puts("  --order ORDER       ascending or descending: how loops without an\n"
         "                      order run");
  if (program.numInputs)
    puts(
        "  --input NAME=FILE   an input's NPY file, or an NPZ archive with it");
  for (int k = 0; k < program.numInputs; ++k)
    printf("                      %s\n", program.inputs[k].name);
  for (int k = 0; k < program.numArgs; ++k) {
    char value[400];
    printScalar(value, program.args[k].type, program.args[k].value);
    printf("  --%s VALUE  %s (default %s)\n", program.args[k].name,
           typeText(program.args[k].type), value);
  }
}

static void printMemory() {
  printf("arena of %" PRId64 " bytes\n"
         "scratch space of %" PRId64 " bytes for each thread\n"
         "%12s %12s  buffer of\n",
         program.arenaBytes, program.scratchBytes, "offset", "bytes");
  for (int k = 0; k < program.numBuffers; ++k)
    printf("%12" PRId64 " %12" PRId64 "  %s\n", program.buffers[k].offset,
           program.buffers[k].bytes, program.buffers[k].tensor);
}

static void storeArgs(int64_t *slots) {
  for (int k = 0; k < program.numArgs; ++k) {
    const Arg &arg = program.args[k];
    float narrow = static_cast<float>(arg.value.floating);
    if (arg.type == Type::F32)
      memcpy(slots + k, &narrow, sizeof(narrow));
    else
      memcpy(slots + k, &arg.value, sizeof(arg.value));
  }
}

/// `NAME=FILE`.
static void setInput(char *text) {
  char *path = text, *name = strsep(&path, "=");
  if (!path || !*path)
    fail(2, "`--input %s`: expected NAME=FILE", name);
  for (int k = 0; k < program.numInputs; ++k)
    if (!strcmp(program.inputs[k].name, name)) {
      program.inputs[k].path = path;
      return;
    }
  fail(2, "`--input %s=%s`: the program has no input `%s`", name, path, name);
}

static const char *csvPath, *jsonPath;

static void writeReports() {
  printTables(stdout);
  if (fflush(stdout) || ferror(stdout))
    fail(1, "can't write to standard output: %s", strerror(errno));
  if (csvPath && !writeCsv(csvPath))
    fail(1, "can't write `%s`: %s", csvPath, strerror(errno));
  if (jsonPath && !writeJsonLines(jsonPath))
    fail(1, "can't write `%s`: %s", jsonPath, strerror(errno));
}

volatile int timerl::rt::interrupted = 0;

void timerl::rt::stopEarly() {
  writeReports();
  fprintf(stderr, "%s: stopped by a signal; nothing is saved\n", programName);
  exit(128 + interrupted);
}

/// The first signal ends the run at the next report; a second one at once.
static void noteSignal(int number) { interrupted = number; }

static void catchSignals() {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = noteSignal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int main(int argc, char **argv) {
  if (argc > 0 && strrchr(argv[0], '/'))
    programName = strrchr(argv[0], '/') + 1;
  else if (argc > 0)
    programName = argv[0];
  readDescription();
  const char *npz = nullptr, *recordPath = nullptr;
  int threads = 0;
  bool descends = false;
  for (int k = 1; k < argc; ++k) {
    if (strncmp(argv[k], "--", 2) || !argv[k][2])
      fail(2, "unexpected argument `%s`; see `--help`", argv[k]);
    char *name = argv[k] + 2, *value = name;
    strsep(&value, "=");
    if (!strcmp(name, "help") && !value) {
      printHelp();
      return fflush(stdout) ? 1 : 0;
    }
    if (!strcmp(name, "version") && !value) {
      puts("built by timerlc " TIMERL_VERSION);
      return 0;
    }
    if (!strcmp(name, "print-schedule") && !value) {
      fputs(timerl_program_schedule, stdout);
      return fflush(stdout) ? 1 : 0;
    }
    if (!strcmp(name, "print-memory") && !value) {
      printMemory();
      return fflush(stdout) ? 1 : 0;
    }
    Arg *arg = nullptr;
    for (int n = 0; n < program.numArgs; ++n)
      if (!strcmp(program.args[n].name, name))
        arg = &program.args[n];
    bool seed = !arg && !strcmp(name, "seed"),
         parallel = !arg && !strcmp(name, "threads"),
         metrics = !arg && !strcmp(name, "metrics"),
         save = !arg && !strcmp(name, "save"),
         record = !arg && !strcmp(name, "record"),
         input = !arg && !strcmp(name, "input"),
         order = !arg && program.sanitizeGranule && !strcmp(name, "order");
    if (!arg && !seed && !parallel && !metrics && !save && !record && !input &&
        !order)
      unknownOption(name);
    if (!value) {
      if (k + 1 == argc)
        fail(2, "`--%s` needs a value", name);
      value = argv[++k];
    }
    if (arg && !parseScalar(value, arg->type, arg->value))
      fail(2, "`--%s %s`: expected %s", name, value, typeText(arg->type));
    if (metrics) {
      if (!strncmp(value, "csv:", 4) && value[4])
        csvPath = value + 4;
      else if (!strncmp(value, "jsonl:", 6) && value[6])
        jsonPath = value + 6;
      else
        fail(2, "`--metrics %s`: expected csv:PATH or jsonl:PATH", value);
    }
    if (save)
      npz = value;
    if (record)
      recordPath = value;
    if (input)
      setInput(value);
    if (order) {
      descends = !strcmp(value, "descending");
      if (!descends && strcmp(value, "ascending"))
        fail(2, "`--order %s`: expected ascending or descending", value);
    }
    if (parallel) {
      char *end = nullptr;
      errno = 0;
      long count = strtol(value, &end, 10);
      if (!*value || *end || errno || count < 1 || count > maxThreads)
        fail(2, "`--threads %s`: expected a number from 1 to %d", value,
             maxThreads);
      threads = static_cast<int>(count);
    }
    if (seed) {
      char *end = nullptr;
      errno = 0;
      program.seed = strtoull(value, &end, 10);
      if (!*value || *end || errno || *value == '-')
        fail(2, "`--seed %s`: expected a whole number from 0", value);
    }
  }

#if defined(__x86_64__)
  // Denormals are zero, as operands and as results.
  _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
  if (program.sanitizeGranule)
    threads = 1;
  if (!threads)
    threads = availableProcessors();
  if (threads > maxThreads)
    threads = maxThreads;
  // The arena, then each thread's scratch space.
  void *arena = nullptr;
  uint64_t bytes = static_cast<uint64_t>(program.arenaBytes),
           all = bytes + static_cast<uint64_t>(program.scratchBytes) * threads;
  if (posix_memalign(&arena, 64, all ? all : 64))
    fail(1, "out of memory: the arena takes %llu bytes",
         static_cast<unsigned long long>(all));
  char *scratch = static_cast<char *>(arena) + bytes;
  catchSignals();
  startThreads(threads, scratch, program.scratchBytes);
  auto *slots = static_cast<int64_t *>(
      calloc(static_cast<size_t>(program.numArgs + program.numInputs) + 1,
             sizeof(int64_t)));
  if (!slots)
    fail(1, "out of memory");
  storeArgs(slots);
  loadInputs(slots);
  prepareReports();
  prepareSanitizer(static_cast<char *>(arena), descends);
  if (npz)
    prepareSaves();
  if (recordPath)
    prepareRecords();
  timerl_program_run(arena, slots, scratch);
  writeReports();
  if (npz && !writeNpz(npz))
    fail(1, "can't write `%s`: %s", npz, strerror(errno));
  if (recordPath && !writeRecords(recordPath))
    fail(1, "can't write `%s`: %s", recordPath, strerror(errno));
  return interrupted ? 128 + interrupted : 0;
}
