#include "zarrcore/view/v2_fill.h"

#include <gtest/gtest.h>

#include <string>

namespace zarrfs::v2_fill_test {
namespace {

struct Case {
  std::string type = "int32";
  std::string fill = "0";
  std::string attribute = "";
  bool named = true;
  ViewContext context = {};
  const ReaderProfile& profile = ZarrPython2Profile();
};

// "fill_value, attribute, whether chunks must be made"; what is absent is "-".
std::string Chosen(const Case& c) {
  const auto type = ParseDataType(
      *ParseJson(c.type.starts_with('{') ? c.type : '"' + c.type + '"', "type"), "type");
  EXPECT_TRUE(type) << c.type;
  const auto fill = ParseFillValue(*ParseJson(c.fill, "fill"), *type, "fill");
  EXPECT_TRUE(fill) << c.fill;
  Json attributes = Json::object();
  if (!c.attribute.empty()) attributes["_FillValue"] = *ParseJson(c.attribute, "attribute");
  const V2Fill chosen = ChooseV2Fill(*fill, *type, '<', c.named, c.context, c.profile, attributes);
  const std::string left =
      attributes.contains("_FillValue") ? Excerpt(attributes["_FillValue"]) : "-";
  return fmt::format("{}, {}{}{}", Excerpt(chosen.fill_value), left,
                     chosen.must_make_chunks ? ", made" : "", chosen.notes.empty() ? "" : ", told");
}

constexpr ViewContext kBelowOme{'\0', true, FillPolicy::kAuto};
constexpr ViewContext kKeep{'\0', false, FillPolicy::kKeep};
constexpr ViewContext kMaterialize{'\0', false, FillPolicy::kMaterialize};

TEST(V2Fill, TheAttributeIsTheFillValue) {
  EXPECT_EQ(Chosen({.fill = "-9", .attribute = "-9"}), "-9, -");
  EXPECT_EQ(Chosen({.fill = "0", .attribute = "-9"}), "-9, -, made");
  EXPECT_EQ(Chosen({.type = "float32", .fill = "0", .attribute = "\"AAAAAAAA+H8=\""}),
            "\"NaN\", -, made");
}

TEST(V2Fill, NanIsKeptForMaskingItChangesNothing) {
  EXPECT_EQ(Chosen({.type = "float64", .fill = "\"NaN\""}), "\"NaN\", -");
  EXPECT_EQ(Chosen({.type = "float32", .fill = "\"0x7fc00001\""}), "\"NaN\", -, made")
      << "its payload cannot be told";
}

TEST(V2Fill, BelowOmeGroupsAndWithoutNamesItIsKept) {
  EXPECT_EQ(Chosen({.fill = "7", .context = kBelowOme}), "7, -");
  EXPECT_EQ(Chosen({.fill = "7", .named = false}), "7, -");
}

TEST(V2Fill, ElseNothingIsMaskedAndChunksAreMade) {
  EXPECT_EQ(Chosen({.fill = "0"}), "null, -, made");
  EXPECT_EQ(Chosen({.type = "string", .fill = "\"\""}), "null, -, made");
}

TEST(V2Fill, ThePolicyOfTheUserGoesFirst) {
  EXPECT_EQ(Chosen({.fill = "0", .context = kKeep}), "0, -");
  EXPECT_EQ(Chosen({.fill = "5", .attribute = "5", .context = kKeep}), "5, -");
  EXPECT_EQ(Chosen({.fill = "7", .named = false, .context = kMaterialize}), "null, -, made");
  EXPECT_EQ(Chosen({.type = "float32",
                    .fill = "7",
                    .attribute = "\"AAAAAAAA+H8=\"",
                    .context = kMaterialize}),
            "null, NaN, made")
      << "the attribute in a spelling that old readers know";
}

TEST(V2Fill, WhatMasksAnotherValueIsNotKept) {
  EXPECT_EQ(Chosen({.fill = "0", .attribute = "5", .context = kKeep}), "5, -, made");
  EXPECT_EQ(Chosen({.type = "bool", .fill = "false", .context = kKeep}), "null, -, made");
  EXPECT_EQ(Chosen({.type = "bool", .fill = "false", .named = false, .context = kKeep}),
            "false, -");
}

TEST(V2Fill, ReadersThatTakeItLiterallyAlwaysHaveIt) {
  EXPECT_EQ(Chosen({.fill = "7", .context = kMaterialize, .profile = JavaProfile()}), "7, -, made");
  EXPECT_EQ(Chosen({.fill = "7", .context = kKeep, .profile = JavaProfile()}), "7, -");
}

TEST(V2Fill, AnUnusableAttributeIsLeftOutAndTold) {
  EXPECT_EQ(Chosen({.fill = "0", .attribute = "\"none\""}), "null, -, made, told");
  EXPECT_EQ(Chosen({.type = "uint8", .fill = "0", .attribute = "300", .named = false}),
            "0, -, told");
}

TEST(V2Fill, WhatV2CannotSayIsMade) {
  EXPECT_EQ(Chosen({.type = "bytes", .fill = "\"YWI=\"", .context = kKeep}), "null, -, made");
  EXPECT_EQ(Chosen({.type = "complex64", .fill = "[1, 2]", .named = false}), "[1.0,2.0], -");
  EXPECT_EQ(Chosen({.type = "complex64", .fill = R"([1, "NaN"])", .named = false}),
            "[1.0,\"NaN\"], -, made")
      << "zarr-python 2 computes with it";
}

TEST(V2Fill, GdalHasNoDataOnlyWhereTheAttributeSaysSo) {
  const auto& gdal = GdalProfile();
  EXPECT_EQ(Chosen({.fill = "0", .profile = gdal}), "null, -");
  EXPECT_EQ(Chosen({.fill = "7", .profile = gdal}), "null, -, made") << "null is zeros to it";
  EXPECT_EQ(Chosen({.fill = "7", .attribute = "7", .profile = gdal}), "7, -");
  EXPECT_EQ(Chosen({.fill = "7", .context = kKeep, .profile = gdal}), "7, -");
  EXPECT_EQ(Chosen({.type = "complex64", .fill = "[1, 2]", .context = kKeep, .profile = gdal}),
            "null, -, made");
  EXPECT_EQ(Chosen({.type = "complex64", .fill = "[1, 0]", .context = kKeep, .profile = gdal}),
            "1.0, -");
  EXPECT_EQ(
      Chosen({.type = "uint64", .fill = "18446744073709551615", .context = kKeep, .profile = gdal}),
      "null, -, made");
}

TEST(V2Fill, GdalTakesNullForNoText) {
  constexpr const char* kUtf32 =
      R"({"name": "fixed_length_utf32", "configuration": {"length_bytes": 8}})";
  EXPECT_EQ(Chosen({.type = kUtf32, .fill = "\"\"", .profile = GdalProfile()}), "\"\", -");
  EXPECT_EQ(Chosen({.type = kUtf32, .fill = "\"ab\"", .profile = GdalProfile()}), "null, -, made");
}

TEST(V2Fill, NetcdfKeepsTheAttributeAsANumber) {
  const auto& netcdf = NetcdfProfile();
  EXPECT_EQ(Chosen({.type = "float32", .fill = "5", .attribute = "\"NaN\"", .profile = netcdf}),
            "\"NaN\", NaN, made");
  EXPECT_EQ(Chosen({.type = "float32", .fill = "5", .attribute = "5", .profile = netcdf}),
            "5.0, 5.0");
  EXPECT_EQ(Chosen({.fill = "0", .profile = netcdf}), "null, -");
}

}  // namespace
}  // namespace zarrfs::v2_fill_test
