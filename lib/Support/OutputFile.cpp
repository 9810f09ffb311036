//===- OutputFile.cpp - Files that are written whole or not at all --------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Support/OutputFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace timerl;

/// Writes and checks; a stream whose error nobody looked at ends the process.
static llvm::Error writeTo(llvm::raw_fd_ostream &os, llvm::StringRef text) {
  os << text;
  os.flush();
  if (!os.has_error())
    return llvm::Error::success();
  std::error_code code = os.error();
  os.clear_error();
  return llvm::errorCodeToError(code);
}

llvm::Error timerl::writeWhole(llvm::StringRef path, llvm::StringRef text,
                               bool executable) {
  if (path == "-")
    return writeTo(llvm::outs(), text);
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(path, status) && llvm::sys::fs::exists(status) &&
      !llvm::sys::fs::is_regular_file(status)) {
    std::error_code code;
    llvm::raw_fd_ostream os(path, code, llvm::sys::fs::CD_OpenExisting);
    return code ? llvm::errorCodeToError(code) : writeTo(os, text);
  }
  auto temporary = llvm::sys::fs::TempFile::create(
      path + ".tmp-%%%%%%",
      llvm::sys::fs::all_read | llvm::sys::fs::all_write |
          (executable ? llvm::sys::fs::all_exe : llvm::sys::fs::no_perms));
  if (!temporary)
    return temporary.takeError();
  llvm::Error failed = [&] {
    llvm::raw_fd_ostream os(temporary->FD, /*shouldClose=*/false);
    return writeTo(os, text);
  }();
  if (failed)
    return llvm::joinErrors(std::move(failed), temporary->discard());
  return temporary->keep(path);
}
