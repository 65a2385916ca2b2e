#include "tools/zarrctl/verify_report.h"

#include <cstdio>
#include <utility>

#include "tools/zarrctl/object_walk.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/terminal.h"
#include "zarrcore/base/printable.h"

namespace zarrfs::ctl {
namespace {

constexpr size_t kMaxListed = 100'000;  // of each kind in a JSON document

}  // namespace

void Findings::Add(const Error& error, const std::string& key, const std::string& chunk) {
  auto& reasons = IsDamage(error) ? damage : unread;
  const auto [entry, added] = reasons.emplace(WithoutKey(error.message, key), Where{chunk, 0});
  if (!added) ++entry->second.others;
}

void VerifyReport::Report(const std::string& key, Findings& findings) {
  for (const auto& [reason, where] : findings.damage) Add(true, key, where, reason);
  for (const auto& [reason, where] : findings.unread) Add(false, key, where, reason);
  findings.damage.clear();
  findings.unread.clear();
}

void VerifyReport::AddProblem(const std::string& key, const Error& error) {
  Add(IsDamage(error), key, {}, WithoutKey(error.message, key));
}

void VerifyReport::Add(bool is_damage, const std::string& key, const Findings::Where& where,
                       const std::string& reason) {
  const std::lock_guard lock(mutex_);
  (is_damage ? damaged_ : unread_) += 1 + where.others;
  if (json_) {
    Json& list = is_damage ? damage_ : unread_list_;
    if (list.size() >= kMaxListed) {
      ++(is_damage ? damage_not_listed_ : unread_not_listed_);
      return;
    }
    Json json = {{"key", key}};
    if (!where.chunk.empty()) {
      json["chunk"] = where.chunk;
      json["others"] = where.others;
    }
    json["reason"] = reason;
    list.push_back(std::move(json));
    return;
  }
  std::string place;
  if (!where.chunk.empty()) {
    place = fmt::format(
        "chunk {}{}: ", where.chunk,
        where.others == 0 ? "" : fmt::format(" and {}", CountText(where.others, "other")));
  }
  if (progress_ != nullptr) progress_->Hide();
  Print("{}: {}{}\n", Paint(key.empty() ? "/" : Visible(key), Style::kRed), place, Visible(reason));
  std::fflush(stdout);
}

void VerifyReport::AddUnchecked(const std::string& path, std::string_view what,
                                const std::string& reason) {
  const std::lock_guard lock(mutex_);
  ++unchecked_count_;
  if (json_) {
    unchecked_.push_back({{"path", path}, {"what", what}, {"reason", reason}});
    return;
  }
  if (progress_ != nullptr) progress_->Hide();
  Print("{}: {}: {}\n", Paint(path.empty() ? "/" : Visible(path), Style::kYellow), what,
        Visible(reason));
}

void VerifyReport::Summarise(const std::string& store, const VerifyCounts& counts, bool stopped) {
  const std::lock_guard lock(mutex_);
  if (json_) return SummariseJson(store, counts, !stopped && unread_ == 0);
  std::string line =
      fmt::format("{}{}, {}, {}, {} decoded: {}", stopped ? "stopped early: " : "",
                  CountText(counts.arrays, "array"), CountText(counts.objects, "stored object"),
                  CountText(counts.chunks, "chunk"), SizeText(counts.bytes),
                  damaged_ == 0 ? Paint("no damage", stopped ? Style::kBold : Style::kGreen)
                                : Paint(fmt::format("{} damaged", damaged_), Style::kRed));
  if (unchecked_count_ > 0) {
    line += "; " +
            Paint(fmt::format("{} not or not fully checked", CountText(unchecked_count_, "array")),
                  Style::kYellow);
  }
  if (unread_ > 0) {
    line += "; " + Paint(fmt::format("{} could not be read or checked", unread_), Style::kRed);
  }
  if (!stopped && damaged_ == 0 && unread_ + unchecked_count_ > 0) {
    line += "; the lines above say why: what they name may be damaged all the same";
  }
  Print("{}\n", line);
}

void VerifyReport::SummariseJson(const std::string& store, const VerifyCounts& counts,
                                 bool complete) const {
  Json json;
  json["store"] = store;
  json["complete"] = complete;
  json["arrays"] = counts.arrays;
  json["objects"] = counts.objects;
  json["chunks"] = counts.chunks;
  json["bytes_decoded_from"] = counts.bytes;
  json["damaged"] = damaged_;
  json["damage"] = damage_;
  if (damage_not_listed_ > 0) json["damage_not_listed"] = damage_not_listed_;
  json["unchecked"] = unchecked_;
  json["unread"] = unread_;
  json["not_read"] = unread_list_;
  if (unread_not_listed_ > 0) json["not_read_not_listed"] = unread_not_listed_;
  Write(DumpJson(json));
}

int VerifyReport::ExitCode() const {
  const std::lock_guard lock(mutex_);
  if (damaged_ > 0) return kExitWrong;
  if (unread_ > 0) return kExitSystem;
  return unchecked_count_ > 0 ? kExitUnchecked : kExitOk;
}

}  // namespace zarrfs::ctl
