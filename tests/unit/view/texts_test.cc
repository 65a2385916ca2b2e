// Strings of variable length, in the views of readers that know text of a fixed length.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/array/array_testing.h"
#include "zarrcore/view/v2_view.h"

namespace zarrfs::texts_test {
namespace {

const V2View kGdal(GdalProfile());
const View& kNc = *AllViews()[*ViewNumber("nc")];

ArrayMetadata Strings(std::string_view shape, std::string_view before = "") {
  return Array(shape, shape, fmt::format(R"({}{{"name": "vlen-utf8"}})", before),
               R"({"data_type": "string", "fill_value": "", "attributes": {"_FillValue": "x"}})");
}

AssembledFile Assembled(const View& view, const ArrayMetadata& array, Result<ElementRange> range) {
  const FileSource::Array source{"names", &array};
  const auto file = view.Assemble(
      {.group = nullptr, .arrays = {&source, 1}, .name = "names", .scan = [&](size_t) {
         return range;
       }});
  EXPECT_TRUE(file);
  return file ? *file : AssembledFile{};
}

AssembledFile InGdal(const ArrayMetadata& array, uint64_t characters) {
  return Assembled(kGdal, array,
                   ElementRange{.text_bytes = 4 * characters, .text_characters = characters});
}

TEST(TextsInGdal, DocumentAndChunkAreMadeLater) {
  const ArrayMetadata array = Strings("[4, 6]");
  const auto view = kGdal.ShowArray(array, LayoutOf(array), {});
  ASSERT_TRUE(view) << view.error().message;
  EXPECT_TRUE(view->has_texts);
  ASSERT_EQ(view->documents.size(), kTextChunk + 1);
  EXPECT_EQ(view->documents[0], Document{}) << "its place is that of .zarray of other types";
  EXPECT_EQ(view->documents[kSharedDocument].name, ".zattrs");
  EXPECT_EQ(view->documents[kSharedDocument].bytes.find("_FillValue"), std::string::npos);
  EXPECT_EQ(view->documents[kTextDocument], (Document{".zarray", ""}));
  EXPECT_EQ(view->documents[kTextChunk], (Document{"0.0", ""}));
}

TEST(TextsInGdal, AreOneChunkOfTheLongest) {
  const AssembledFile file = InGdal(Strings("[4, 6]"), 7);
  const auto document = ParseJson(file.document, ".zarray");
  ASSERT_TRUE(document);
  EXPECT_EQ((*document)["dtype"], "<U7");
  EXPECT_EQ((*document)["chunks"], *ParseJson("[4, 6]", ""));
  EXPECT_EQ((*document)["compressor"], nullptr);
  EXPECT_EQ((*document)["fill_value"], nullptr);
  EXPECT_EQ(file.size, 4U * 6 * 7 * 4);
  ASSERT_EQ(file.parts.size(), 1U);
  EXPECT_EQ(file.parts[0].size(), file.size);
}

TEST(TextsInGdal, AreNotShownBeyond249CharactersOrAGibibyte) {
  EXPECT_TRUE(InGdal(Strings("[4]"), 249).notes.empty());
  const AssembledFile longer = InGdal(Strings("[4]"), 250);
  EXPECT_TRUE(longer.document.empty());
  EXPECT_EQ(longer.notes.at(0), "string of 250 characters; this view's readers accept 249");
  EXPECT_FALSE(InGdal(Strings("[268435456]"), 1).document.empty());
  EXPECT_EQ(InGdal(Strings("[268435457]"), 1).notes.at(0),
            "as one chunk, the array would exceed 1073741824 bytes");
  EXPECT_EQ(InGdal(Strings("[4611686018427387904]"), 1).notes.size(), 1U) << "overflows";
}

TEST(TextsInGdal, AreNotShownWhereTheirLengthIsNotKnown) {
  const AssembledFile file =
      Assembled(kGdal, Strings("[4]"), Fail(ErrorCode::kUnsupported, "too many"));
  EXPECT_TRUE(file.document.empty());
  EXPECT_EQ(file.notes, std::vector<std::string>{"too many"});
}

TEST(TextsInGdal, AreNotShownInAnotherOrder) {
  const ArrayMetadata array =
      Strings("[4, 6]", R"({"name": "transpose", "configuration": {"order": [1, 0]}}, )");
  const auto view = kGdal.ShowArray(array, LayoutOf(array), {});
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().message, "strings in an order other than C");
}

TEST(TextsInNc, AreCharactersOfTheLongest) {
  const AssembledFile file =
      Assembled(kNc, Strings("[4]"), ElementRange{.text_bytes = 9, .text_characters = 5});
  ASSERT_EQ(file.parts.size(), 1U);
  EXPECT_EQ(file.parts[0].form.item_size(), 9U);
  EXPECT_NE(file.header.find("string9"), std::string::npos);
  EXPECT_NE(file.header.find("_Encoding"), std::string::npos);
}

TEST(TextsInNc, AreLeftOutWhereTheirLengthIsNotKnown) {
  const AssembledFile file =
      Assembled(kNc, Strings("[4]"), Fail(ErrorCode::kUnsupported, "too many"));
  EXPECT_TRUE(file.parts.empty());
  EXPECT_EQ(file.notes, std::vector<std::string>{"names: too many"});
}

}  // namespace
}  // namespace zarrfs::texts_test
