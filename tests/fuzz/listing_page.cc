// Input: the response of a server, parsed as a page of a listing and as an error.
#include "zarrcore/net/listing_page.h"

#include "tests/fuzz/fuzzing.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/net/verdict.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using zarrfs::Require;
  zarrfs::ProcessMemory().SetLimit(64u << 20);
  const std::string text(zarrfs::Text(data, size));
  for (const std::string folder : {"", "a", "a/c"}) {
    const auto page = zarrfs::ParseListingPage(text, folder);
    if (!page) continue;
    Require(page->has_any || page->entries.empty(), "no name where there is none", folder);
    for (const zarrfs::ListEntry& entry : page->entries) {
      Require(zarrfs::IsValidKey(entry.name) && entry.name.find('/') == std::string::npos &&
                  !entry.name.empty(),
              "names of one part", entry.name);
    }
  }
  // Only one error code makes an object of a bucket absent.
  zarrfs::RemoteSource source;
  source.is_s3 = true;
  for (const long status : {403L, 404L, 500L}) {
    zarrfs::HttpReply reply;
    reply.status = status;
    reply.text = text;
    const auto verdict = zarrfs::Judge(reply, source, "key", "http://host/key");
    const bool is_absent = verdict.kind == zarrfs::Verdict::Kind::kError &&
                           verdict.error.code == zarrfs::ErrorCode::kNotFound;
    Require(verdict.kind != zarrfs::Verdict::Kind::kBytes, "an error to be no bytes", text);
    Require(!is_absent || (status == 404 && zarrfs::S3ErrorCode(text) == "NoSuchKey"),
            "absence to be said", text);
  }
  return 0;
}
