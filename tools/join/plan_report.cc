#include "tools/join/plan_report.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "support/text.h"

namespace rocksieve::tools {
namespace {

using join::JoinPlan;

// How many such ranges the whole join has.
double RangesOf(const JoinPlan& plan) {
  const auto share = [](uint64_t all, uint64_t some) {
    return some == 0 ? 0 : static_cast<double>(all) / static_cast<double>(some);
  };
  return std::max(1.0, std::max(share(plan.local_keys, plan.range_local_keys),
                                share(plan.remote_keys, plan.range_remote_keys)));
}

uint64_t Bytes(const JoinPlan& plan, const JoinPlan::Strategy& cost) {
  return static_cast<uint64_t>(cost.bits / 8 * RangesOf(plan));
}

double BitsPerKey(const JoinPlan& plan, const JoinPlan::Strategy& cost) {
  return cost.bits / static_cast<double>(std::max<uint64_t>(1, plan.range_local_keys));
}

std::string TextReport(const JoinPlan& plan) {
  std::string text = plan.address + ": about " + Thousands(plan.local_keys) + " keys here, " +
                     Thousands(plan.remote_keys) + " there. Of the first range " +
                     Thousands(plan.range_local_keys) + " here, " +
                     Thousands(plan.range_remote_keys) + " there, about " +
                     Thousands(plan.range_common_keys) + " common.\n";
  if (plan.range_is_equal)
    return text + "The range is equal on both sides, which costs some 100 bytes.\n";
  if (plan.strategies.empty()) return text + "One side has no keys there: nothing is sent.\n";
  std::vector<std::vector<std::string>> table = {{"strategy", "bytes", "bits per key here"}};
  for (const JoinPlan::Strategy& cost : plan.strategies) {
    table.push_back({cost.name, Thousands(Bytes(plan, cost)), Fixed(BitsPerKey(plan, cost), 2)});
  }
  return text + AlignedTable(table) +
         "Estimates for all ranges, rows apart. Begins with: " + plan.first_move + ".\n" +
         (plan.keys_are_as_cheap ? "Shipping the keys costs about as little: any other tool that "
                                   "compares sorted lists "
                                   "will do.\n"
                                 : "");
}

}  // namespace

std::string TextReport(const std::vector<JoinPlan>& plans) {
  std::string text;
  for (const JoinPlan& plan : plans) {
    if (!text.empty()) text += "\n";
    text += TextReport(plan);
  }
  return text;
}

std::string JsonReport(const std::vector<JoinPlan>& plans) {
  nlohmann::ordered_json remotes = nlohmann::ordered_json::array();
  for (const JoinPlan& plan : plans) {
    nlohmann::ordered_json strategies = nlohmann::ordered_json::array();
    for (const JoinPlan::Strategy& cost : plan.strategies) {
      strategies.push_back({{"name", cost.name},
                            {"bytes", Bytes(plan, cost)},
                            {"bits_per_local_key", BitsPerKey(plan, cost)}});
    }
    remotes.push_back({{"address", plan.address},
                       {"local_keys", plan.local_keys},
                       {"remote_keys", plan.remote_keys},
                       {"range_local_keys", plan.range_local_keys},
                       {"range_remote_keys", plan.range_remote_keys},
                       {"range_common_keys", plan.range_common_keys},
                       {"range_is_equal", plan.range_is_equal},
                       {"first_move", plan.first_move},
                       {"keys_are_as_cheap", plan.keys_are_as_cheap},
                       {"strategies", strategies}});
  }
  const nlohmann::ordered_json json = {{"remotes", remotes}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace rocksieve::tools
