//===- Npy.h - NPY and NPZ files --------------------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NumPy's array files (format versions 1 to 3) and archives of them, which are
// uncompressed zip files. Little-endian f32, f64, i32, i64, u8 and bool. Errors
// name the file and what is wrong with it; files are written whole or not at
// all.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_SUPPORT_NPY_H
#define TIMERL_SUPPORT_NPY_H

#include "timerl/Support/Array.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace timerl {

struct NamedArray {
  std::string name;
  Array value;
};

llvm::Expected<Array> readNpy(llvm::StringRef path);
llvm::Error writeNpy(llvm::StringRef path, const Array &array);

/// The arrays in the archive's order, named without `.npy`.
llvm::Expected<std::vector<NamedArray>> readNpz(llvm::StringRef path);
llvm::Error writeNpz(llvm::StringRef path, llvm::ArrayRef<NamedArray> arrays);

} // namespace timerl

#endif // TIMERL_SUPPORT_NPY_H
