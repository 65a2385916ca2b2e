#include "tools/zarrctl/metrics_text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>

namespace zarrfs::ctl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One sample: name{label="value",...} value [timestamp]
class LineReader {
 public:
  explicit LineReader(std::string_view line) : rest_(line) {}

  std::optional<MetricSample> Read() {
    MetricSample sample;
    sample.name = Name();
    if (sample.name.empty()) return std::nullopt;
    Blanks();
    if (Take('{')) {
      for (Blanks(); !Take('}'); Blanks()) {
        const std::string label = Name();
        Blanks();
        if (label.empty() || !Take('=')) return std::nullopt;
        Blanks();
        auto value = Quoted();
        if (!value) return std::nullopt;
        sample.labels.emplace(label, std::move(*value));
        Blanks();
        if (!Take(',') && !rest_.starts_with('}')) return std::nullopt;
      }
      Blanks();
    }
    const auto value = Number();
    if (!value) return std::nullopt;
    sample.value = *value;
    Blanks();
    if (!rest_.empty() && !Number()) return std::nullopt;  // a time stamp
    Blanks();
    if (!rest_.empty()) return std::nullopt;
    return sample;
  }

 private:
  void Blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }
  bool Take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string Name() {
    size_t end = 0;
    while (end < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[end])) != 0 ||
                                  rest_[end] == '_' || rest_[end] == ':')) {
      ++end;
    }
    std::string name(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return name;
  }
  std::optional<std::string> Quoted() {
    if (!Take('"')) return std::nullopt;
    std::string text;
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return text;
      if (c != '\\') {
        text += c;
        continue;
      }
      if (rest_.empty()) return std::nullopt;
      text += rest_.front() == 'n' ? '\n' : rest_.front();
      rest_.remove_prefix(1);
    }
    return std::nullopt;
  }
  // Also NaN, +Inf, -Inf.
  std::optional<double> Number() {
    const std::string word(rest_.substr(0, std::min(rest_.find_first_of(" \t"), rest_.size())));
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (word.empty() || end != word.c_str() + word.size()) return std::nullopt;
    rest_.remove_prefix(word.size());
    return value;
  }

  std::string_view rest_;
};

bool Includes(const MetricLabels& all, const MetricLabels& some) {
  return std::ranges::all_of(some, [&](const auto& label) {
    const auto found = all.find(label.first);
    return found != all.end() && found->second == label.second;
  });
}

}  // namespace

Result<Metrics> Metrics::Parse(std::string_view text) {
  Metrics metrics;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.empty() || line.starts_with('#')) continue;
    auto sample = LineReader(line).Read();
    if (!sample) return Fail(ErrorCode::kDamaged, "line {} is no metric: {}", number, line);
    metrics.samples_.push_back(std::move(*sample));
  }
  return metrics;
}

std::optional<double> Metrics::Sum(std::string_view name, const MetricLabels& labels) const {
  std::optional<double> sum;
  for (const MetricSample& sample : samples_) {
    if (sample.name == name && Includes(sample.labels, labels)) {
      sum = sum.value_or(0) + sample.value;
    }
  }
  return sum;
}

std::vector<std::string> Metrics::LabelValues(std::string_view name,
                                              const std::string& label) const {
  std::set<std::string> values;
  for (const MetricSample& sample : samples_) {
    if (sample.name != name) continue;
    if (const auto found = sample.labels.find(label); found != sample.labels.end()) {
      values.insert(found->second);
    }
  }
  return {values.begin(), values.end()};
}

std::string Metrics::Label(std::string_view name, const std::string& label) const {
  const auto values = LabelValues(name, label);
  return values.empty() ? "" : values.front();
}

std::optional<double> Metrics::Quantile(const std::string& name, const MetricLabels& labels,
                                        double share) const {
  std::map<double, double> buckets;  // bound -> observations up to it
  for (const MetricSample& sample : samples_) {
    if (sample.name != name + "_bucket" || !Includes(sample.labels, labels)) continue;
    const auto bound = sample.labels.find("le");
    if (bound == sample.labels.end()) continue;
    buckets[std::strtod(bound->second.c_str(), nullptr)] += sample.value;
  }
  if (buckets.empty() || !(buckets.rbegin()->second > 0)) return std::nullopt;
  const double wanted = share * buckets.rbegin()->second;
  double below = 0;  // observations
  double from = 0;   // bound
  for (const auto& [bound, count] : buckets) {
    if (count >= wanted && count > below) {
      if (bound == kInfinity) return from;
      return from + (bound - from) * (wanted - below) / (count - below);
    }
    below = count;
    from = bound;
  }
  return from;
}

}  // namespace zarrfs::ctl
