//===- NpyTest.cpp - NPY and NPZ files ------------------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Support/Npy.h"
#include "catch2/catch.hpp"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace timerl;

static std::string temporary(llvm::StringRef suffix) {
  llvm::SmallString<128> path;
  REQUIRE(!llvm::sys::fs::createTemporaryFile("timerl", suffix, path));
  return path.str().str();
}

static void writeBytes(const std::string &path, llvm::StringRef bytes) {
  std::error_code error;
  llvm::raw_fd_ostream(path, error) << bytes;
  REQUIRE(!error);
}

static Array example(DType dtype, llvm::ArrayRef<int64_t> shape) {
  Array array(dtype, shape);
  dispatch(dtype, [&](auto zero) {
    for (int64_t k = 0; k < array.size(); ++k)
      array.mutableData<decltype(zero)>()[k] = static_cast<decltype(zero)>(k);
  });
  return array;
}

static bool same(const Array &a, const Array &b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.raw(), b.raw(), a.byteSize()) == 0;
}

TEST_CASE("arrays of every type and rank survive NPY") {
  std::string path = temporary("npy");
  for (DType dtype :
       {DType::F32, DType::F64, DType::I32, DType::I64, DType::U8, DType::Bool})
    for (std::vector<int64_t> shape : std::vector<std::vector<int64_t>>{
             {}, {3}, {2, 5}, {2, 0, 4}, {1, 2, 3, 4}}) {
      Array array = example(dtype, shape);
      REQUIRE(!writeNpy(path, array));
      auto read = readNpy(path);
      REQUIRE(bool(read));
      CHECK(same(array, *read));
    }
  llvm::sys::fs::remove(path);
}

TEST_CASE("archives keep order, names and values") {
  std::string path = temporary("npz");
  std::vector<NamedArray> arrays{{"net.0.w", example(DType::F32, {4, 2})},
                                 {"b'", example(DType::I64, {})},
                                 {"mask", example(DType::Bool, {7})}};
  REQUIRE(!writeNpz(path, arrays));
  auto read = readNpz(path);
  REQUIRE(bool(read));
  REQUIRE(read->size() == 3);
  for (size_t k = 0; k < 3; ++k) {
    CHECK((*read)[k].name == arrays[k].name);
    CHECK(same((*read)[k].value, arrays[k].value));
  }
  REQUIRE(!writeNpz(path, {}));
  read = readNpz(path);
  REQUIRE(bool(read));
  CHECK(read->empty());
  llvm::sys::fs::remove(path);
}

TEST_CASE("column-major files are turned") {
  std::string path = temporary("npy"),
              header = "{'descr': '|u1', 'fortran_order': True, "
                       "'shape': (2, 3), }\n";
  std::string bytes = "\x93NUMPY";
  bytes += std::string("\x01\x00", 2) + static_cast<char>(header.size()) +
           std::string(1, '\0') + header + std::string("\0\1\2\3\4\5", 6);
  writeBytes(path, bytes);
  auto read = readNpy(path);
  REQUIRE(bool(read));
  std::vector<int64_t> values;
  for (int64_t k = 0; k < 6; ++k)
    values.push_back(read->getInt(k));
  CHECK(values == std::vector<int64_t>{0, 2, 4, 1, 3, 5});
  llvm::sys::fs::remove(path);
}

TEST_CASE("damaged files give errors that name the file") {
  std::string path = temporary("npz");
  REQUIRE(!writeNpz(path, {{"x", example(DType::F64, {5})}}));
  auto buffer = llvm::MemoryBuffer::getFile(path);
  REQUIRE(bool(buffer));
  std::string whole = (*buffer)->getBuffer().str();
  // No cut crashes; all but the comment's length are needed.
  for (size_t size = 0; size < whole.size(); ++size) {
    writeBytes(path, llvm::StringRef(whole).take_front(size));
    auto read = readNpz(path);
    REQUIRE(!read);
    std::string message = llvm::toString(read.takeError());
    CHECK(llvm::StringRef(message).contains(path));
  }
  // No changed byte crashes.
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] ^= 0x55;
    writeBytes(path, changed);
    if (auto read = readNpz(path); !read)
      llvm::consumeError(read.takeError());
    auto npy = readNpy(path);
    REQUIRE(!npy);
    llvm::consumeError(npy.takeError());
  }
  llvm::sys::fs::remove(path);
  auto missing = readNpy(path);
  REQUIRE(!missing);
  llvm::consumeError(missing.takeError());
}
