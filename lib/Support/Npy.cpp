//===- Npy.cpp - NPY and NPZ files ----------------------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NPY: magic, version, length of the header, the header (a Python dictionary
// literal), the elements. Zip: APPNOTE 6.3, method "stored", with 64-bit fields
// where a size needs them.
//
//===----------------------------------------------------------------------===//

#include "timerl/Support/Npy.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>
#include <optional>

using namespace timerl;
using llvm::StringRef;
namespace endian = llvm::support::endian;

static llvm::Error failure(StringRef path, const llvm::Twine &what) {
  return llvm::createStringError(llvm::Twine("`") + path + "`: " + what);
}

static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
openFile(StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return failure(path, "cannot be read: " + file.getError().message());
  return std::move(*file);
}

//===----------------------------------------------------------------------===//
// NPY
//===----------------------------------------------------------------------===//

static const char npyMagic[] = "\x93NUMPY";

static StringRef descriptionOf(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return "<f4";
  case DType::F64:
    return "<f8";
  case DType::I32:
    return "<i4";
  case DType::I64:
    return "<i8";
  case DType::U8:
    return "|u1";
  case DType::Bool:
    return "|b1";
  }
  return "";
}

/// What stands after `'key':` in the header.
static std::optional<StringRef> fieldOf(StringRef header, StringRef key) {
  size_t at = header.find(("'" + key + "'").str());
  if (at == StringRef::npos)
    return std::nullopt;
  StringRef rest = header.drop_front(at + key.size() + 2).ltrim();
  if (!rest.consume_front(":"))
    return std::nullopt;
  return rest.ltrim();
}

/// Row-major elements from column-major ones.
static Array fromColumnMajor(const Array &source) {
  Array result(source.dtype(), source.shape());
  unsigned width = sizeOf(source.dtype());
  llvm::SmallVector<int64_t> index(source.rank());
  for (int64_t k = 0; k < source.size(); ++k) {
    int64_t offset = 0, stride = 1;
    for (unsigned axis = 0; axis < source.rank(); ++axis) {
      offset += index[axis] * stride;
      stride *= source.shape()[axis];
    }
    std::memcpy(static_cast<char *>(result.mutableRaw()) + k * width,
                static_cast<const char *>(source.raw()) + offset * width,
                width);
    for (int64_t axis = int64_t(source.rank()) - 1; axis >= 0; --axis) {
      if (++index[axis] < source.shape()[axis])
        break;
      index[axis] = 0;
    }
  }
  return result;
}

static llvm::Expected<Array> parseNpy(StringRef path, StringRef bytes) {
  StringRef magic(npyMagic, 6);
  if (!bytes.consume_front(magic) || bytes.size() < 4)
    return failure(path, "is not an NPY file");
  unsigned version = static_cast<uint8_t>(bytes[0]);
  if (version < 1 || version > 3)
    return failure(path, "has NPY version " + llvm::Twine(version) +
                             "; versions 1 to 3 are supported");
  bytes = bytes.drop_front(2);
  unsigned lengthBytes = version == 1 ? 2 : 4;
  if (bytes.size() < lengthBytes)
    return failure(path, "is cut short");
  size_t headerSize = version == 1 ? endian::read16le(bytes.data())
                                   : endian::read32le(bytes.data());
  bytes = bytes.drop_front(lengthBytes);
  if (bytes.size() < headerSize)
    return failure(path, "is cut short");
  StringRef header = bytes.take_front(headerSize);
  bytes = bytes.drop_front(headerSize);

  auto description = fieldOf(header, "descr"),
       order = fieldOf(header, "fortran_order"),
       shapeText = fieldOf(header, "shape");
  if (!description || !order || !shapeText)
    return failure(path, "has a header without descr, fortran_order or shape");
  StringRef typeName = description->starts_with("'")
                           ? description->drop_front().split('\'').first
                           : description->split(',').first;
  std::optional<DType> dtype;
  for (DType candidate :
       {DType::F32, DType::F64, DType::I32, DType::I64, DType::U8, DType::Bool})
    if (descriptionOf(candidate) == typeName)
      dtype = candidate;
  if (!dtype)
    return failure(path, "holds elements of type " + typeName +
                             "; supported are little-endian f4, f8, i4, i8, "
                             "u1 and b1");
  llvm::SmallVector<int64_t> shape;
  StringRef rest = *shapeText;
  if (!rest.consume_front("("))
    return failure(path, "has a header with a bad shape");
  uint64_t size = 1;
  while (!(rest = rest.ltrim(" ,")).starts_with(")")) {
    int64_t length;
    if (rest.consumeInteger(10, length) || length < 0)
      return failure(path, "has a header with a bad shape");
    if (__builtin_mul_overflow(size, static_cast<uint64_t>(length), &size))
      return failure(path, "has a shape that is too large");
    shape.push_back(length);
  }
  if (size > bytes.size() / sizeOf(*dtype))
    return failure(path, "is cut short: its shape needs " + llvm::Twine(size) +
                             " elements");
  Array array(*dtype, shape);
  std::memcpy(array.mutableRaw(), bytes.data(), array.byteSize());
  if (*dtype == DType::Bool) // Any other byte in a bool is undefined.
    for (int64_t k = 0; k < array.size(); ++k)
      array.mutableData<uint8_t>()[k] = bytes[k] != 0;
  return order->starts_with("True") && shape.size() > 1 ? fromColumnMajor(array)
                                                        : array;
}

/// Everything before the elements.
static std::string npyHeader(const Array &array) {
  std::string header = "{'descr': '" + descriptionOf(array.dtype()).str() +
                       "', 'fortran_order': False, 'shape': (";
  for (int64_t length : array.shape())
    header += std::to_string(length) + ", ";
  if (array.rank() > 1)
    header.resize(header.size() - 2); // A tuple of one keeps its comma.
  else if (array.rank() == 1)
    header.pop_back();
  header += "), }";
  // Padded so that the elements start at a multiple of 64.
  size_t prefix = 10;
  header.append((64 - (prefix + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string result(npyMagic, 6);
  result += std::string("\x01\x00", 2);
  result += static_cast<char>(header.size() & 0xff);
  result += static_cast<char>(header.size() >> 8);
  return result + header;
}

static StringRef bytesOf(const Array &array) {
  return {static_cast<const char *>(array.raw()),
          static_cast<size_t>(array.byteSize())};
}

llvm::Expected<Array> timerl::readNpy(StringRef path) {
  auto file = openFile(path);
  if (!file)
    return file.takeError();
  return parseNpy(path, (*file)->getBuffer());
}

llvm::Error timerl::writeNpy(StringRef path, const Array &array) {
  return llvm::writeToOutput(path, [&](llvm::raw_ostream &os) {
    os << npyHeader(array) << bytesOf(array);
    return llvm::Error::success();
  });
}

//===----------------------------------------------------------------------===//
// NPZ
//===----------------------------------------------------------------------===//

static const uint32_t localSignature = 0x04034b50,
                      centralSignature = 0x02014b50, endSignature = 0x06054b50,
                      end64Signature = 0x06064b50,
                      locator64Signature = 0x07064b50;

namespace {
/// Little-endian fields.
struct FieldWriter {
  std::string bytes;
  void put(uint64_t value, unsigned width) {
    for (unsigned k = 0; k < width; ++k)
      bytes += static_cast<char>(value >> (8 * k));
  }
};

struct ZipEntry {
  std::string name;
  uint32_t crc = 0;
  uint64_t size = 0, offset = 0;
};
} // namespace

/// Fields that a local header and a central record share, from the version
/// needed to the name's length.
static void putCommon(FieldWriter &out, const ZipEntry &entry) {
  out.put(45, 2);     // 4.5: 64-bit sizes.
  out.put(0x0800, 2); // The name is UTF-8.
  out.put(0, 2);      // Stored.
  out.put(0, 2);
  out.put(0x21, 2); // 1980-01-01: files do not depend on the clock.
  out.put(entry.crc, 4);
  out.put(0xffffffff, 4);
  out.put(0xffffffff, 4);
  out.put(entry.name.size(), 2);
}

llvm::Error timerl::writeNpz(StringRef path,
                             llvm::ArrayRef<NamedArray> arrays) {
  return llvm::writeToOutput(path, [&](llvm::raw_ostream &os) {
    std::vector<ZipEntry> entries;
    uint64_t offset = 0;
    auto write = [&](StringRef bytes) {
      os << bytes;
      offset += bytes.size();
    };
    for (const NamedArray &array : arrays) {
      std::string header = npyHeader(array.value);
      StringRef data = bytesOf(array.value);
      ZipEntry entry;
      entry.name = array.name + ".npy";
      entry.crc = llvm::crc32(llvm::arrayRefFromStringRef(header));
      entry.crc = llvm::crc32(entry.crc, llvm::arrayRefFromStringRef(data));
      entry.size = header.size() + data.size();
      entry.offset = offset;
      FieldWriter local;
      local.put(localSignature, 4);
      putCommon(local, entry);
      local.put(20, 2);
      local.bytes += entry.name;
      local.put(1, 2);
      local.put(16, 2);
      local.put(entry.size, 8);
      local.put(entry.size, 8);
      write(local.bytes);
      write(header);
      write(data);
      entries.push_back(std::move(entry));
    }
    uint64_t directory = offset;
    for (const ZipEntry &entry : entries) {
      FieldWriter central;
      central.put(centralSignature, 4);
      central.put(45, 2);
      putCommon(central, entry);
      central.put(28, 2);
      central.put(0, 2); // No comment; first disk; attributes.
      central.put(0, 2);
      central.put(0, 2);
      central.put(0, 4);
      central.put(0xffffffff, 4);
      central.bytes += entry.name;
      central.put(1, 2);
      central.put(24, 2);
      central.put(entry.size, 8);
      central.put(entry.size, 8);
      central.put(entry.offset, 8);
      write(central.bytes);
    }
    uint64_t directoryEnd = offset;
    FieldWriter end;
    end.put(end64Signature, 4);
    end.put(44, 8);
    end.put(45, 2);
    end.put(45, 2);
    end.put(0, 4);
    end.put(0, 4);
    end.put(entries.size(), 8);
    end.put(entries.size(), 8);
    end.put(directoryEnd - directory, 8);
    end.put(directory, 8);
    end.put(locator64Signature, 4);
    end.put(0, 4);
    end.put(directoryEnd, 8);
    end.put(1, 4);
    end.put(endSignature, 4);
    end.put(0, 4);
    end.put(0xffff, 2);
    end.put(0xffff, 2);
    end.put(0xffffffff, 4);
    end.put(0xffffffff, 4);
    end.put(0, 2);
    write(end.bytes);
    return llvm::Error::success();
  });
}

namespace {
/// Bounds-checked little-endian reads; `ok` turns false on the first bad one.
struct FieldReader {
  StringRef bytes;
  bool ok = true;
  uint64_t get(uint64_t offset, unsigned width) {
    if (offset > bytes.size() || bytes.size() - offset < width) {
      ok = false;
      return 0;
    }
    uint64_t value = 0;
    for (unsigned k = 0; k < width; ++k)
      value |= uint64_t(static_cast<uint8_t>(bytes[offset + k])) << (8 * k);
    return value;
  }
};
} // namespace

llvm::Expected<std::vector<NamedArray>> timerl::readNpz(StringRef path) {
  auto file = openFile(path);
  if (!file)
    return file.takeError();
  FieldReader in{(*file)->getBuffer()};
  uint64_t end = StringRef::npos;
  // The end record may be followed by a comment of up to 64 KiB.
  for (uint64_t back = 22; back <= in.bytes.size() && back <= 22 + 65535;
       ++back)
    if (in.get(in.bytes.size() - back, 4) == endSignature) {
      end = in.bytes.size() - back;
      break;
    }
  if (end == StringRef::npos)
    return failure(path, "is not an NPZ (zip) file");
  uint64_t count = in.get(end + 10, 2), offset = in.get(end + 16, 4);
  if (end >= 20 && in.get(end - 20, 4) == locator64Signature) {
    uint64_t record = in.get(end - 20 + 8, 8);
    if (in.get(record, 4) == end64Signature) {
      count = in.get(record + 32, 8);
      offset = in.get(record + 48, 8);
    }
  }
  std::vector<NamedArray> arrays;
  for (uint64_t k = 0; k < count; ++k) {
    if (in.get(offset, 4) != centralSignature || !in.ok)
      return failure(path, "has a damaged directory");
    uint64_t method = in.get(offset + 10, 2), packed = in.get(offset + 20, 4),
             size = in.get(offset + 24, 4), nameSize = in.get(offset + 28, 2),
             extraSize = in.get(offset + 30, 2),
             commentSize = in.get(offset + 32, 2),
             local = in.get(offset + 42, 4);
    StringRef name = in.bytes.substr(offset + 46, nameSize);
    // 64-bit values stand in the extra field, only those that did not fit.
    uint64_t extra = offset + 46 + nameSize, extraEnd = extra + extraSize;
    while (in.ok && extra + 4 <= extraEnd) {
      uint64_t tag = in.get(extra, 2), length = in.get(extra + 2, 2),
               at = extra + 4;
      if (tag == 1)
        for (uint64_t *field : {&size, &packed, &local})
          if (*field == 0xffffffff) {
            *field = in.get(at, 8);
            at += 8;
          }
      extra += 4 + length;
    }
    offset += 46 + nameSize + extraSize + commentSize;
    if (method != 0)
      return failure(path, "`" + name +
                               "` is compressed; write it with numpy.savez "
                               "rather than savez_compressed");
    uint64_t data = local + 30 + in.get(local + 26, 2) + in.get(local + 28, 2);
    if (!in.ok || in.get(local, 4) != localSignature ||
        data > in.bytes.size() || in.bytes.size() - data < size)
      return failure(path, "`" + name + "` is cut short");
    auto array =
        parseNpy((path + ":" + name).str(), in.bytes.substr(data, size));
    if (!array)
      return array.takeError();
    name.consume_back(".npy");
    arrays.push_back({name.str(), std::move(*array)});
  }
  return arrays;
}
