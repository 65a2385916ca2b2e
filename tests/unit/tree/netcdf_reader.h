// Reads files in NetCDF's classic formats, CDF-2 and CDF-5, written from "File Format
// Specifications" in the NetCDF documentation. It shares no code with the view `nc`, which it
// checks.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zarrfs::model {

enum NetcdfType : uint32_t { kNcChar = 2, kNcShort = 3, kNcInt = 4, kNcUbyte = 7 };

struct NetcdfAttribute {
  uint32_t type = 0;
  std::string values;  // big-endian
  bool operator==(const NetcdfAttribute&) const = default;
};
using NetcdfAttributes = std::map<std::string, NetcdfAttribute>;

struct NetcdfDimension {
  std::string name;
  uint64_t length = 0;
};

struct NetcdfVariable {
  std::string name;
  std::vector<NetcdfDimension> dimensions;
  NetcdfAttributes attributes;
  uint32_t type = 0;
  std::string values;  // big-endian
};

struct NetcdfFile {
  int version = 0;
  std::vector<NetcdfDimension> dimensions;
  NetcdfAttributes attributes;
  std::vector<NetcdfVariable> variables;
};

class NetcdfReader {
 public:
  /// What is wrong with the file; "" if nothing is.
  static std::string Read(std::string_view text, NetcdfFile& file) {
    NetcdfReader reader(text);
    reader.ReadFile(file);
    return reader.wrong_;
  }

 private:
  explicit NetcdfReader(std::string_view text) : text_(text) {}

  void ReadFile(NetcdfFile& file) {
    if (Take(3) != "CDF") return Wrong("no magic number");
    version_ = static_cast<int>(Big(1));
    if (version_ != 2 && version_ != 5) return Wrong("CDF-{}", version_);
    file.version = version_;
    if (Count() != 0) return Wrong("records");
    for (uint64_t left = List(10); left > 0 && wrong_.empty(); --left) {
      const std::string name = Name();
      file.dimensions.push_back({name, Count()});
    }
    CheckDimensions(file);
    file.attributes = Attributes();
    for (uint64_t left = List(11); left > 0 && wrong_.empty(); --left) ReadVariable(file);
    if (!wrong_.empty()) return;
    header_ = at_;
    uint64_t end = header_;
    for (size_t v = 0; v < file.variables.size() && wrong_.empty(); ++v) {
      end = ReadValues(file.variables[v], begins_[v], end);
    }
    if (wrong_.empty() && end != text_.size()) Wrong("ends at {}, not {}", text_.size(), end);
  }

  void CheckDimensions(const NetcdfFile& file) {
    std::map<std::string, int> names;
    size_t records = 0;
    for (const NetcdfDimension& each : file.dimensions) {
      if (names[each.name]++ > 0) Wrong("two dimensions are called {}", each.name);
      if (each.length == 0 && ++records > 1) Wrong("two record dimensions");
    }
  }

  void ReadVariable(NetcdfFile& file) {
    NetcdfVariable made;
    made.name = Name();
    uint64_t size = 1;
    for (uint64_t left = Count(), n = 0; n < left && wrong_.empty(); ++n) {
      const uint64_t dimension = Count();
      if (dimension >= file.dimensions.size()) return Wrong("no such dimension");
      made.dimensions.push_back(file.dimensions[dimension]);
      const uint64_t length = made.dimensions.back().length;
      if (length == 0 && n > 0) return Wrong("{}: an inner dimension has length 0", made.name);
      size *= length == 0 ? 1 : length;
    }
    made.attributes = Attributes();
    made.type = static_cast<uint32_t>(Big(4));
    const uint64_t stated = Count();
    begins_.push_back(Big(8));
    if (!wrong_.empty()) return;
    if (stated != Padded(size * SizeOf(made.type))) {
      return Wrong("{}: vsize is {}", made.name, stated);
    }
    file.variables.push_back(std::move(made));
  }

  // Returns the end of the values. What lies between `end` and them has to be 0.
  uint64_t ReadValues(NetcdfVariable& variable, uint64_t begin, uint64_t end) {
    uint64_t size = SizeOf(variable.type);
    for (const NetcdfDimension& each : variable.dimensions) size *= each.length;
    if (begin < end) Wrong("{}: begins in what is before it", variable.name);
    if (size == 0) return end;
    if (begin % 4 != 0) Wrong("{}: is not aligned", variable.name);
    if (begin > text_.size() || Padded(size) > text_.size() - begin) {
      Wrong("{}: lies outside the file", variable.name);
    }
    if (!wrong_.empty()) return end;
    variable.values = text_.substr(begin, size);
    CheckZeros(end, begin);
    CheckZeros(begin + size, begin + Padded(size));
    return begin + Padded(size);
  }

  void CheckZeros(uint64_t from, uint64_t to) {
    if (text_.substr(from, to - from).find_first_not_of('\0') != text_.npos) {
      Wrong("padding at {} is not 0", from);
    }
  }

  NetcdfAttributes Attributes() {
    NetcdfAttributes attributes;
    for (uint64_t left = List(12); left > 0 && wrong_.empty(); --left) {
      const std::string name = Name();
      NetcdfAttribute made;
      made.type = static_cast<uint32_t>(Big(4));
      made.values = TakePadded(Count() * SizeOf(made.type));
      if (!attributes.emplace(name, made).second) Wrong("two attributes are called {}", name);
    }
    return attributes;
  }

  // The number of elements of a list.
  uint64_t List(uint64_t tag) {
    const uint64_t found = Big(4);
    const uint64_t count = Count();
    if (found != (count == 0 ? 0 : tag)) Wrong("tag {} of {} elements", found, count);
    return count;
  }
  std::string Name() { return TakePadded(Count()); }
  std::string TakePadded(uint64_t size) {
    std::string taken(Take(size));
    const size_t end = at_;
    CheckZeros(end, end + Take(Padded(size) - size).size());
    return taken;
  }
  uint64_t Count() { return Big(version_ == 5 ? 8 : 4); }
  uint64_t Big(size_t bytes) {
    uint64_t value = 0;
    for (const char byte : Take(bytes)) value = value << 8 | static_cast<unsigned char>(byte);
    return value;
  }
  std::string_view Take(uint64_t size) {
    if (size > text_.size() - at_) {
      Wrong("the header ends early");
      return "";
    }
    const std::string_view taken = text_.substr(at_, size);
    at_ += size;
    return taken;
  }

  static uint64_t Padded(uint64_t size) { return (size + 3) / 4 * 4; }
  uint64_t SizeOf(uint32_t type) {
    constexpr std::array<uint64_t, 12> kSizes = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
    if (type == 0 || type > (version_ == 5 ? 11U : 6U)) {
      Wrong("type {}", type);
      return 1;
    }
    return kSizes[type];
  }

  template <typename... Args>
  void Wrong(fmt::format_string<Args...> format, Args&&... args) {
    if (wrong_.empty()) wrong_ = fmt::format(format, std::forward<Args>(args)...);
  }

  const std::string_view text_;
  size_t at_ = 0;
  size_t header_ = 0;  // its length
  int version_ = 0;
  std::vector<uint64_t> begins_;
  std::string wrong_;
};

}  // namespace zarrfs::model
