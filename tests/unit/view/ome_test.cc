// OME-Zarr metadata between versions 0.4 and 0.5. The pairs are as in the specifications' examples.
#include "zarrcore/metadata/ome.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/view/reader_profile.h"
#include "zarrcore/view/v2_view.h"
#include "zarrcore/view/v3_view.h"

namespace zarrfs::ome_test {
namespace {

Json Parsed(const std::string& text) { return *ParseJson(text, "test"); }

struct Pair {
  const char* name;
  const char* v04;
  const char* v05;
};

const Pair kPairs[] = {
    {"image",
     R"({"multiscales": [{"name": "a", "datasets": [{"path": "0"}], "version": "0.4"}],
         "omero": {"channels": [], "version": "0.4"}, "bioformats2raw.layout": 3, "mine": 1})",
     R"({"mine": 1, "ome": {"version": "0.5",
         "multiscales": [{"name": "a", "datasets": [{"path": "0"}]}],
         "omero": {"channels": []}, "bioformats2raw.layout": 3}})"},
    {"label",
     R"({"multiscales": [{"datasets": [{"path": "0"}], "axes": [{"name": "x"}], "version": "0.4"}],
         "image-label": {"colors": [], "version": "0.4"}})",
     R"({"ome": {"version": "0.5",
         "multiscales": [{"datasets": [{"path": "0"}], "axes": [{"name": "x"}]}],
         "image-label": {"colors": []}}})"},
    {"plate",
     R"({"plate": {"rows": [{"name": "A"}], "wells": [{"path": "A/1"}], "version": "0.4"}})",
     R"({"ome": {"version": "0.5",
         "plate": {"rows": [{"name": "A"}], "wells": [{"path": "A/1"}]}}})"},
    {"well", R"({"well": {"images": [{"path": "0"}], "version": "0.4"}})",
     R"({"ome": {"version": "0.5", "well": {"images": [{"path": "0"}]}}})"},
    {"labels", R"({"labels": ["nuclei"]})", R"({"ome": {"version": "0.5", "labels": ["nuclei"]}})"},
    {"OME", R"({"series": ["0", "1"]})", R"({"ome": {"version": "0.5", "series": ["0", "1"]}})"},
};

// The group of a pair, below an OME one.
OmePlace PlaceOf(const Pair& pair) { return {true, pair.name}; }

// Whatever the order of members.
void ExpectEqual(const Json& one, const Json& other, const char* what) {
  EXPECT_EQ(nlohmann::json::parse(one.dump()), nlohmann::json::parse(other.dump())) << what;
}

TEST(Ome, WhatHasOneVersionIsSaidInTheOther) {
  for (const Pair& pair : kPairs) {
    const OmeAttributes as04 = AsOme04(Parsed(pair.v05));
    ExpectEqual(as04.attributes, Parsed(pair.v04), pair.name);
    EXPECT_TRUE(as04.notes.empty()) << pair.name;
    const OmeAttributes as05 = AsOme05(Parsed(pair.v04), PlaceOf(pair));
    ExpectEqual(as05.attributes, Parsed(pair.v05), pair.name);
    EXPECT_TRUE(as05.notes.empty()) << pair.name;
  }
}

TEST(Ome, WhatIsAlreadyInTheVersionStaysAsItIs) {
  for (const Pair& pair : kPairs) {
    ExpectEqual(AsOme04(Parsed(pair.v04)).attributes, Parsed(pair.v04), pair.name);
    ExpectEqual(AsOme05(Parsed(pair.v05), PlaceOf(pair)).attributes, Parsed(pair.v05), pair.name);
  }
}

TEST(Ome, VersionsThatTheOtherCannotSayStayWithANote) {
  const Json v06 = Parsed(R"({"ome": {"version": "0.6.dev3", "multiscales": [{}]}})");
  const OmeAttributes as04 = AsOme04(v06);
  ExpectEqual(as04.attributes, v06, "0.6");
  ASSERT_EQ(as04.notes.size(), 1U);
  EXPECT_EQ(as04.notes[0], R"(OME-Zarr "0.6.dev3": not shown as 0.4)");

  const Json v01 = Parsed(R"({"multiscales": [{"datasets": [{"path": "0"}], "version": "0.1"}]})");
  const OmeAttributes as05 = AsOme05(v01, {});
  ExpectEqual(as05.attributes, v01, "0.1");
  ASSERT_EQ(as05.notes.size(), 1U);
  EXPECT_EQ(as05.notes[0], R"(OME-Zarr "0.1": not shown as 0.5)");
}

TEST(Ome, AMemberThatIsThereForOldReadersStays) {
  const OmeAttributes shown = AsOme04(Parsed(
      R"({"multiscales": ["old"], "ome": {"version": "0.5", "multiscales": [{}], "labels": []}})"));
  ExpectEqual(shown.attributes, Parsed(R"({"multiscales": ["old"], "labels": []})"), "");
  ASSERT_EQ(shown.notes.size(), 1U);
}

// The specification's example of draft 0.6.dev4; drafts before it name systems by text.
TEST(Ome, PlainPyramidsOf06AreThoseOf05) {
  const char* const v05 =
      R"({"before": 1, "ome": {"version": "0.5", "multiscales": [{"name": "example",
      "axes": [{"name": "y", "type": "space", "unit": "micrometer"}, {"name": "x", "type": "space"}],
      "datasets": [
        {"path": "s0", "coordinateTransformations": [{"type": "scale", "scale": [0.5, 0.25]}]},
        {"path": "s1", "coordinateTransformations": [{"type": "scale", "scale": [1, 0.5]},
                                                     {"type": "translation", "translation": [0.5, 0]}]},
        {"path": "s2", "coordinateTransformations": [{"type": "scale", "scale": [1.0, 1.0]}]}],
      "type": "gaussian"}], "omero": {"channels": []}}})";
  for (const auto& [input, output] : {std::pair(R"({"path": "s0"})", R"({"name": "world"})"),
                                      std::pair(R"("s0")", R"("world")")}) {
    const Json v06 = Parsed(fmt::format(
        R"({{"before": 1, "ome": {{"version": "0.6.dev4", "multiscales": [{{"name": "example",
        "coordinateSystems": [{{"name": "world", "axes": [
            {{"name": "y", "type": "space", "unit": "micrometer"}}, {{"name": "x", "type": "space"}}]}}],
        "datasets": [
          {{"path": "s0", "coordinateTransformations": [
              {{"type": "scale", "scale": [0.5, 0.25], "input": {0}, "output": {1}}}]}},
          {{"path": "s1", "coordinateTransformations": [
              {{"type": "sequence", "input": {0}, "output": {1}, "transformations": [
                  {{"type": "scale", "scale": [1, 0.5]}},
                  {{"type": "translation", "translation": [0.5, 0]}}]}}]}},
          {{"path": "s2", "coordinateTransformations": [
              {{"type": "identity", "input": {0}, "output": {1}}}]}}],
        "type": "gaussian"}}], "omero": {{"channels": []}}}}}})",
        input, output));
    EXPECT_TRUE(IsOme(v06, {}));
    const OmeAttributes as05 = Ome06AsOme05(v06);
    ExpectEqual(as05.attributes, Parsed(v05), output);
    EXPECT_EQ(as05.notes, std::vector<std::string>{R"(OME-Zarr "0.6.dev4": shown as 0.5)"});
    const OmeAttributes as04 = AsOme04(v06);
    ExpectEqual(as04.attributes, AsOme04(Parsed(v05)).attributes, output);
    EXPECT_EQ(as04.notes, std::vector<std::string>{R"(OME-Zarr "0.6.dev4": shown as 0.4)"});
  }
  const Json labels = Parsed(R"({"ome": {"version": "0.6", "labels": ["a"]}})");
  ExpectEqual(AsOme04(labels).attributes, Parsed(R"({"labels": ["a"]})"), "labels");
}

TEST(Ome, What05CannotSayStays06) {
  const Json plain = Parsed(R"({"ome": {"version": "0.6", "multiscales": [{
      "coordinateSystems": [{"name": "world", "axes": [{"name": "y"}, {"name": "x"}]}],
      "datasets": [{"path": "0", "coordinateTransformations": [
          {"type": "scale", "scale": [1, 2], "input": "0", "output": "world"}]}]}]}})");
  EXPECT_NE(AsOme04(plain).attributes, plain);
  const auto with = [&](const char* pointer, const char* value) {
    Json other = plain;
    other[Json::json_pointer(std::string("/ome") + pointer)] = Parsed(value);
    return other;
  };
  const std::string image = "/multiscales/0";
  const std::string transformation = image + "/datasets/0/coordinateTransformations/0";
  for (const Json& other :
       {with("/scene", "{}"), with((image + "/coordinateTransformations").c_str(), "[{}]"),
        with((image + "/coordinateSystems/1").c_str(), R"({"name": "b", "axes": []})"),
        with((image + "/coordinateSystems/0/axes/0/type").c_str(), R"("array")"),
        with((image + "/datasets/0/coordinateTransformations/1").c_str(), "{}"),
        with((transformation + "/type").c_str(), R"("affine")"),
        with((transformation + "/output").c_str(), R"("another")"),
        with((transformation + "/scale").c_str(), "[1]"),
        with((transformation + "/scale").c_str(), R"(["1", 2])"),
        with(transformation.c_str(), R"({"type": "sequence", "output": "world", "transformations": [
            {"type": "translation", "translation": [1, 1]}, {"type": "scale", "scale": [2, 2]}]})"),
        with(transformation.c_str(),
             R"({"type": "sequence", "output": "world", "transformations": 5})"),
        with("/multiscales", "[{}]"), with("/multiscales", "{}")}) {
    EXPECT_EQ(AsOme04(other).attributes, other) << other;
    EXPECT_EQ(Ome06AsOme05(other).attributes, other) << other;
    EXPECT_EQ(AsOme04(other).notes,
              std::vector<std::string>{R"(OME-Zarr "0.6": not shown as 0.4)"});
  }
}

TEST(Ome, WithoutAVersionItIs05) {
  // As ome-zarr-py writes the group of labels.
  ExpectEqual(AsOme04(Parsed(R"({"ome": {"labels": ["nuclei"]}})")).attributes,
              Parsed(R"({"labels": ["nuclei"]})"), "");
}

TEST(Ome, OtherStoresAreLeftAlone) {
  const char* const others[] = {
      R"({"labels": ["a"], "series": ["1"]})", "{}", R"({"ome": "text"})",
      R"({"ome": {"version": 5, "mine": true}})", R"({"ome": {"version": "0.4"}})",
      // GeoZarr, maps by ndpyramid, boreholes, assays.
      R"({"multiscales": {"layout": [{"asset": "r10m"}], "resampling_method": "mean"}})",
      R"({"multiscales": [{"datasets": [{"path": "0", "pixels_per_tile": 128}], "type": "reduce"}]})",
      R"({"multiscales": [{"datasets": [{"path": "0"}], "pixels_per_tile": 128, "version": "0.1"}]})",
      R"({"well": "34/10-A-8"})", R"({"well": {"images": []}})", R"({"plate": "NAZ"})",
      R"({"plate": {"wells": 96}})", R"({"image-label": {"colors": []}})", R"({"omero": {}})",
      R"({"bioformats2raw.layout": "3"})"};
  for (const char* const text : others) {
    const Json attributes = Parsed(text);
    for (const bool below_ome : {false, true}) {
      // (Below an OME group and in one of these names they would be members.)
      const OmePlace place{below_ome, "group"};
      EXPECT_FALSE(IsOme(attributes, place)) << text;
      ExpectEqual(AsOme04(attributes).attributes, attributes, text);
      ExpectEqual(AsOme05(attributes, place).attributes, attributes, text);
      EXPECT_TRUE(AsOme04(attributes).notes.empty()) << text;
      EXPECT_TRUE(AsOme05(attributes, place).notes.empty()) << text;
    }
  }
}

// Of each name that could make a group an OME one.
TEST(Ome, AnAttributeOfAnotherTypeIsTheUsers) {
  const char* const values[] = {"null",      "true",         "7",   "1.5",
                                R"("text")", "[]",           "[1]", R"(["a"])",
                                "[{}]",      R"([[{}], 1])", "{}",  R"({"a": {}})"};
  for (const char* const name : {"ome", "multiscales", "omero", "labels", "plate", "well",
                                 "image-label", "series", "bioformats2raw.layout"}) {
    for (const char* const value : values) {
      const bool is_layout = std::string_view(name) == "bioformats2raw.layout";
      if (is_layout && std::string_view(value) == "7") continue;  // which is the right type
      const Json attributes = Parsed(fmt::format(R"({{"before": 1, "{}": {}}})", name, value));
      EXPECT_FALSE(IsOme(attributes, {true, "group"})) << name << ": " << value;
      ExpectEqual(AsOme04(attributes).attributes, attributes, name);
      ExpectEqual(AsOme05(attributes, {true, "group"}).attributes, attributes, name);
    }
  }
}

TEST(Ome, AMemberThatIsTheUsersStaysBesideTheOthers) {
  const OmeAttributes shown = AsOme05(
      Parsed(
          R"({"multiscales": [{"datasets": [{"path": "0"}], "version": "0.4"}], "well": "34/10"})"),
      {});
  ExpectEqual(shown.attributes, Parsed(R"({"well": "34/10",
      "ome": {"version": "0.5", "multiscales": [{"datasets": [{"path": "0"}]}]}})"),
              "");
}

TEST(Ome, AnArrayOf04HasTheAxesOfTheImageThatNamesIt) {
  const Json image = Parsed(R"({"multiscales": [
      {"version": "0.4", "axes": [{"name": "y"}, {"name": "x"}], "datasets": [{"path": "0"}]},
      {"axes": [{"name": "t"}], "datasets": [{"path": "x"}, {"path": "1"}]},
      {"version": "0.3", "axes": [{"name": "z"}], "datasets": [{"path": "2"}]}]})");
  EXPECT_EQ(AxesIn04(image, "0"), (std::vector<std::string>{"y", "x"}));
  EXPECT_EQ(AxesIn04(image, "1"), std::vector<std::string>{"t"});
  EXPECT_TRUE(AxesIn04(image, "2").empty()) << "which is not shown as 0.5 either";
  EXPECT_TRUE(AxesIn04(image, "3").empty());
  for (const char* other : {"{}", R"({"multiscales": 1})", R"({"multiscales": [1, {"axes": 2}]})",
                            R"({"multiscales": [{"datasets": [{"path": 0}, {"path": "0"}]}]})"}) {
    EXPECT_TRUE(AxesIn04(Parsed(other), "0").empty()) << other;
  }
}

TEST(Ome, OnlyTheViewOfV2ReadersShows04AndOnlyIfItMay) {
  GroupMetadata group;
  group.attributes = Parsed(kPairs[0].v05);
  const auto attributes = [&](const ReaderProfile& profile, bool keeps) {
    ViewContext context;
    context.keeps_ome = keeps;
    return Parsed(V2View(profile).ShowGroup(group, context).documents[1].bytes);
  };
  ExpectEqual(attributes(ZarrPython2Profile(), false), Parsed(kPairs[0].v04), "v2");
  ExpectEqual(attributes(ZarrPython2Profile(), true), Parsed(kPairs[0].v05), "v2, ome=keep");
  ExpectEqual(attributes(GdalProfile(), false), Parsed(kPairs[0].v05), "gdal");
}

}  // namespace
}  // namespace zarrfs::ome_test
