// OME-Zarr metadata between versions 0.4 and 0.5. The pairs are as in the specifications' examples.
#include "zarrcore/view/ome.h"

#include <gtest/gtest.h>

#include <string>
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
     R"({"multiscales": [{"datasets": [], "version": "0.4"}],
         "image-label": {"colors": [], "version": "0.4"}})",
     R"({"ome": {"version": "0.5", "multiscales": [{"datasets": []}],
         "image-label": {"colors": []}}})"},
    {"plate", R"({"plate": {"rows": [{"name": "A"}], "version": "0.4"}})",
     R"({"ome": {"version": "0.5", "plate": {"rows": [{"name": "A"}]}}})"},
    {"well", R"({"well": {"images": [{"path": "0"}], "version": "0.4"}})",
     R"({"ome": {"version": "0.5", "well": {"images": [{"path": "0"}]}}})"},
    {"labels below an image", R"({"labels": ["nuclei"]})",
     R"({"ome": {"version": "0.5", "labels": ["nuclei"]}})"},
    {"the group OME", R"({"series": ["0", "1"]})",
     R"({"ome": {"version": "0.5", "series": ["0", "1"]}})"},
};

// Whatever the order of members.
void ExpectEqual(const Json& one, const Json& other, const char* what) {
  EXPECT_EQ(nlohmann::json::parse(one.dump()), nlohmann::json::parse(other.dump())) << what;
}

TEST(Ome, WhatHasOneVersionIsSaidInTheOther) {
  for (const Pair& pair : kPairs) {
    const OmeAttributes as04 = AsOme04(Parsed(pair.v05));
    ExpectEqual(as04.attributes, Parsed(pair.v04), pair.name);
    EXPECT_TRUE(as04.notes.empty()) << pair.name;
    const OmeAttributes as05 = AsOme05(Parsed(pair.v04), /*below_ome=*/true);
    ExpectEqual(as05.attributes, Parsed(pair.v05), pair.name);
    EXPECT_TRUE(as05.notes.empty()) << pair.name;
  }
}

TEST(Ome, WhatIsAlreadyInTheVersionStaysAsItIs) {
  for (const Pair& pair : kPairs) {
    ExpectEqual(AsOme04(Parsed(pair.v04)).attributes, Parsed(pair.v04), pair.name);
    ExpectEqual(AsOme05(Parsed(pair.v05), true).attributes, Parsed(pair.v05), pair.name);
  }
}

TEST(Ome, VersionsThatTheOtherCannotSayStayWithANote) {
  const Json v06 = Parsed(R"({"ome": {"version": "0.6.dev3", "multiscales": [{}]}})");
  const OmeAttributes as04 = AsOme04(v06);
  ExpectEqual(as04.attributes, v06, "0.6");
  ASSERT_EQ(as04.notes.size(), 1U);
  EXPECT_EQ(as04.notes[0], R"(OME-Zarr "0.6.dev3": not shown as 0.4)");

  const Json v01 = Parsed(R"({"multiscales": [{"version": "0.1"}]})");
  const OmeAttributes as05 = AsOme05(v01, false);
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

TEST(Ome, OtherStoresAreLeftAlone) {
  const Json others[] = {Parsed(R"({"labels": ["a"], "series": [1]})"), Parsed("{}"),
                         Parsed(R"({"ome": "text"})")};
  for (const Json& attributes : others) {
    ExpectEqual(AsOme04(attributes).attributes, attributes, "");
    ExpectEqual(AsOme05(attributes, /*below_ome=*/false).attributes, attributes, "");
    EXPECT_TRUE(AsOme04(attributes).notes.empty());
  }
  // Values of other types than the specification's are handed on.
  (void)AsOme04(Parsed(R"({"ome": {"version": "0.5", "multiscales": 1, "plate": [2, {}]}})"));
  (void)AsOme05(Parsed(R"({"multiscales": [1, {"version": {}}], "well": "x"})"), false);
}

TEST(Ome, AnArrayOf04HasTheAxesOfTheImageThatNamesIt) {
  const Json image = Parsed(R"({"multiscales": [
      {"version": "0.4", "axes": [{"name": "y"}, {"name": "x"}], "datasets": [{"path": "0"}]},
      {"axes": [{"name": "t"}], "datasets": [{}, {"path": "1"}]},
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
