#include "tools/zarrctl/verify_report.h"

#include <cstdio>
#include <utility>

#include "tools/zarrctl/output.h"
#include "zarrcore/base/printable.h"

namespace zarrfs::ctl {
namespace {

// The maximum number of entries in each list of the JSON document, except the list of unchecked
// arrays.
constexpr size_t kMaxListed = 100'000;

}  // namespace

Reason Reason::Of(const Error& error, const std::string& key) {
  return {!IsDamage(error), WithoutKey(error.message, key)};
}

void VerifyReport::Add(const std::string& key, Findings& findings) {
  for (const auto& [reason, chunks] : findings) Add(key, reason, chunks);
  findings.clear();
}

void VerifyReport::AddProblem(const std::string& key, const Error& error) {
  Add(key, Reason::Of(error, key), AffectedChunks{});
}

void VerifyReport::Add(const std::string& key, const Reason& reason, const AffectedChunks& chunks) {
  const MutexLock lock(mutex_);
  Tally& tally = reason.is_unread ? unread_ : damage_;
  tally.count += 1 + chunks.others;
  if (json_) {
    if (tally.list.size() >= kMaxListed) {
      ++tally.not_listed;
      return;
    }
    Json json = {{"key", key}};
    if (!chunks.first.empty()) {
      json["chunk"] = chunks.first;
      json["others"] = chunks.others;
    }
    json["reason"] = reason.text;
    tally.list.push_back(std::move(json));
    return;
  }
  std::string place;
  if (!chunks.first.empty()) {
    place = fmt::format(
        "chunk {}{}: ", chunks.first,
        chunks.others == 0 ? "" : fmt::format(" and {}", CountText(chunks.others, "other")));
  }
  progress.Hide();
  Print("{}: {}{}\n", Paint(key.empty() ? "/" : Visible(key), Style::kRed), place,
        Visible(reason.text));
  std::fflush(stdout);
}

void VerifyReport::AddUnchecked(const std::string& path, std::string_view what,
                                const std::string& reason) {
  const MutexLock lock(mutex_);
  ++unchecked_count_;
  if (json_) {
    unchecked_.push_back({{"path", path}, {"what", what}, {"reason", reason}});
    return;
  }
  progress.Hide();
  Print("{}: {}: {}\n", Paint(path.empty() ? "/" : Visible(path), Style::kYellow), what,
        Visible(reason));
}

void VerifyReport::AddNote(const std::string& key, const std::string& note) {
  const MutexLock lock(mutex_);
  if (json_) {
    if (notes_.size() < kMaxListed) notes_.push_back({{"key", key}, {"note", note}});
    return;
  }
  progress.Hide();
  Print("{}: {}\n", Paint(key.empty() ? "/" : Visible(key), Style::kYellow), Visible(note));
}

void VerifyReport::AddStray(const std::string& key) {
  const MutexLock lock(mutex_);
  if (stray_count_++ == 0) first_stray_ = key;
}

void VerifyReport::Summarise(const std::string& store, bool stopped) {
  const MutexLock lock(mutex_);
  if (json_) return SummariseJson(store, !stopped && unread_.count == 0);
  std::string line = fmt::format(
      "{}{}, {}, {}, {} decoded: {}", stopped ? "stopped early: " : "",
      CountText(counts.arrays, "array"), CountText(counts.objects, "stored object"),
      CountText(counts.chunks, "chunk"), SizeText(counts.bytes),
      damage_.count == 0 ? Paint("no damage", stopped ? Style::kBold : Style::kGreen)
                         : Paint(fmt::format("{} damaged", damage_.count), Style::kRed));
  if (unchecked_count_ > 0) {
    line += "; " + Paint(fmt::format("{} not fully checked", CountText(unchecked_count_, "array")),
                         Style::kYellow);
  }
  if (unread_.count > 0) {
    line +=
        "; " + Paint(fmt::format("{} could not be read or checked", unread_.count), Style::kRed);
  }
  if (!stopped && damage_.count == 0 && unread_.count + unchecked_count_ > 0) {
    line += "; the lines above say why; those parts may also be damaged";
  }
  Print("{}\n", line);
  if (stray_count_ > 0) {
    Print("{} in the store belong{} to no array or group: {}{}\n", CountText(stray_count_, "file"),
          stray_count_ == 1 ? "s" : "", Visible(first_stray_), stray_count_ == 1 ? "" : ", …");
  }
  if (const uint64_t chunks = counts.chunks_without_checksum; chunks > 0) {
    Print("{} no checksum: damage inside may look like data\n",
          chunks == 1 ? "1 chunk has" : CountText(chunks, "chunk") + " have");
  }
}

void VerifyReport::SummariseJson(const std::string& store, bool complete) const {
  Json json = {{"store", store},
               {"complete", complete},
               {"arrays", counts.arrays.load()},
               {"objects", counts.objects.load()},
               {"chunks", counts.chunks.load()},
               {"bytes_decoded_from", counts.bytes.load()},
               {"chunks_without_checksum", counts.chunks_without_checksum.load()},
               {"files_of_no_node", stray_count_},
               {"damaged", damage_.count},
               {"damage", damage_.list}};
  if (damage_.not_listed > 0) json["damage_not_listed"] = damage_.not_listed;
  json["unchecked"] = unchecked_;
  json["notes"] = notes_;
  json["unread"] = unread_.count;
  json["not_read"] = unread_.list;
  if (unread_.not_listed > 0) json["not_read_not_listed"] = unread_.not_listed;
  Write(DumpJson(json));
}

int VerifyReport::ExitCode() const {
  const MutexLock lock(mutex_);
  if (damage_.count > 0) return kExitWrong;
  if (unread_.count > 0) return kExitSystem;
  return unchecked_count_ > 0 ? kExitUnchecked : kExitOk;
}

}  // namespace zarrfs::ctl
