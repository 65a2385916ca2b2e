// Where the variables of a NetCDF file are, and of which type. What readers make of it:
// tests/interop/test_nc.py.
#include "zarrcore/view/nc_view.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/array/array_testing.h"
#include "zarrcore/view/assembled_file.h"

namespace zarrfs::nc_view_test {
namespace {

struct Named {
  std::string name;
  ArrayMetadata array;
};

Named Numbers(const std::string& name, std::string_view type, std::string_view shape,
              std::string_view members = "{}") {
  Json more = *ParseJson(members, "members");
  more["data_type"] = type;
  return {name, Array(shape, shape, kBytesCodec, DumpJson(more))};
}

// `range`: what a look at the elements of any array would show.
AssembledFile Assembled(const std::vector<Named>& arrays, NetcdfFormat format = NetcdfFormat::kAuto,
                        Result<ElementRange> range = Fail(ErrorCode::kUnsupported, "too many")) {
  std::vector<FileSource::Array> sources;
  for (const Named& each : arrays) sources.push_back({each.name, &each.array});
  const auto file = NcView().Assemble({.group = nullptr,
                                       .arrays = sources,
                                       .name = "file",
                                       .scan = [&](size_t) { return range; },
                                       .netcdf = format});
  EXPECT_TRUE(file);
  return file ? *file : AssembledFile{};
}

int VersionOf(const AssembledFile& file) { return file.header.at(3); }

std::vector<size_t> ArraysByOffset(const AssembledFile& file) {
  std::vector<size_t> arrays;
  for (const FilePart& part : file.parts) arrays.push_back(part.array);
  return arrays;
}

// Elements of a byte that take this many GiB.
std::string Gibibytes(uint64_t count) { return fmt::format("[{}, 1073741824]", count); }

TEST(NcView, EachVariableBeginsOnABoundaryInTheOrderOfNamesAndTheLastIsTheEnd) {
  const AssembledFile file =
      Assembled({Numbers("a", "int8", "[5]"), Numbers("b", "int16", "[3]"),
                 Numbers("c", "float64", "[1000]"), Numbers("d", "int8", "[7]")});
  EXPECT_EQ(VersionOf(file), 2);
  EXPECT_EQ(ArraysByOffset(file), (std::vector<size_t>{0, 1, 2, 3}));
  EXPECT_EQ(file.parts[0].offset, 4096U);
  EXPECT_EQ(file.parts[1].offset, 8192U);
  EXPECT_EQ(file.parts[2].offset, 12288U);
  EXPECT_EQ(file.parts[3].offset, 20480U);
  EXPECT_EQ(file.size, 20480U + 8) << "a multiple of four";
}

TEST(NcView, InCdf2TheOneVariableBeyond4GiBIsTheLast) {
  const std::vector<Named> arrays = {Numbers("a", "int8", Gibibytes(5)),
                                     Numbers("b", "int8", "[7]"),
                                     Numbers("c", "int8", Gibibytes(3))};
  const AssembledFile file = Assembled(arrays);
  EXPECT_EQ(VersionOf(file), 2);
  EXPECT_EQ(ArraysByOffset(file), (std::vector<size_t>{1, 2, 0}));
  EXPECT_TRUE(file.notes.empty());
}

TEST(NcView, TwoVariablesBeyond4GiBNeedCdf5) {
  const std::vector<Named> arrays = {Numbers("a", "int8", Gibibytes(5)),
                                     Numbers("b", "int8", Gibibytes(4))};
  const AssembledFile file = Assembled(arrays);
  EXPECT_EQ(VersionOf(file), 5);
  EXPECT_EQ(ArraysByOffset(file), (std::vector<size_t>{0, 1}));
  const AssembledFile older = Assembled(arrays, NetcdfFormat::kCdf2);
  EXPECT_EQ(ArraysByOffset(older), std::vector<size_t>{0});
  EXPECT_EQ(older.notes,
            std::vector<std::string>{"b: only one variable of CDF-2 may be larger than 4 GiB"});
}

TEST(NcView, AnArrayOfNoLengthBesideOneBeyond4GiBNeedsCdf5) {
  const std::vector<Named> arrays = {Numbers("a", "int8", Gibibytes(5)),
                                     Numbers("none", "int8", "[0, 3]")};
  EXPECT_EQ(VersionOf(Assembled(arrays)), 5) << "netCDF-C refuses such a file of CDF-2";
  const AssembledFile older = Assembled(arrays, NetcdfFormat::kCdf2);
  EXPECT_EQ(ArraysByOffset(older), std::vector<size_t>{0});
  EXPECT_EQ(older.notes, std::vector<std::string>{"none: its length is 0, which CDF-2 cannot "
                                                  "combine with a variable larger than 4 GiB"});
  EXPECT_EQ(VersionOf(Assembled({Numbers("a", "int8", "[5]"), arrays[1]})), 2);
}

TEST(NcView, ADimensionThatCdf2CannotStateNeedsCdf5) {
  const std::vector<Named> arrays = {Numbers("a", "int8", "[2147483645]")};
  EXPECT_EQ(VersionOf(Assembled({Numbers("a", "int8", "[2147483644]")})), 2);
  EXPECT_EQ(VersionOf(Assembled(arrays)), 5);
  EXPECT_EQ(Assembled(arrays, NetcdfFormat::kCdf2).notes,
            std::vector<std::string>{"a: a dimension is too long for CDF-2"});
}

TEST(NcView, WideIntegersAreIntWhereALookAtThemOrAttributesSayThatTheyFit) {
  const auto type_of = [](std::string_view type, std::string_view attributes,
                          const Result<ElementRange>& range) {
    const AssembledFile file =
        Assembled({Numbers("a", type, "[4]", fmt::format(R"({{"attributes": {}}})", attributes))},
                  NetcdfFormat::kAuto, range);
    return fmt::format("{} in CDF-{}", file.parts.at(0).form.type.name, VersionOf(file));
  };
  const Result<ElementRange> unknown = Fail(ErrorCode::kUnsupported, "too many");
  for (const char* type : {"int64", "uint64", "uint32"}) {
    const std::string exact = fmt::format("{} in CDF-5", type);
    EXPECT_EQ(type_of(type, "{}", unknown), exact);
    EXPECT_EQ(type_of(type, "{}", ElementRange{.fits_int32 = false}), exact);
    EXPECT_EQ(type_of(type, "{}", ElementRange{.fits_int32 = true}), "int32 in CDF-2");
    EXPECT_EQ(type_of(type, R"({"valid_range": [0, 2147483647]})", unknown), "int32 in CDF-2");
    EXPECT_EQ(type_of(type, R"({"valid_min": 0, "valid_max": 7})", unknown), "int32 in CDF-2");
    EXPECT_EQ(type_of(type, R"({"valid_range": [0, 2147483648]})", unknown), exact);
    EXPECT_EQ(type_of(type, R"({"valid_max": 7})", unknown), exact) << "and what is the least?";
    EXPECT_EQ(type_of(type, R"({"valid_range": [0, 7], "_FillValue": 4294967295})", unknown), exact)
        << "which is beyond the range on purpose";
  }
  EXPECT_EQ(type_of("uint8", "{}", unknown), "int16 in CDF-2");
  EXPECT_EQ(type_of("uint16", "{}", unknown), "int32 in CDF-2");
}

TEST(NcView, ATypeThatNoFormatHasIsNoReasonForTheOneThatFewReadersKnow) {
  const AssembledFile file = Assembled(
      {Numbers("a", "int8", "[4]"), Numbers("z", "complex64", "[4]", R"({"fill_value": [0, 0]})")});
  EXPECT_EQ(VersionOf(file), 2);
  EXPECT_EQ(file.notes.size(), 1U);
}

}  // namespace
}  // namespace zarrfs::nc_view_test
