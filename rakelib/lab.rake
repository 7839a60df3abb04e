# frozen_string_literal: true

namespace :lab do
  desc "Ask plait advise about workloads whose best mechanism is known: BUDGET=10 ONLY=tiny,burst or ONLY=unseen"
  task(:labelled) do
    $LOAD_PATH.unshift(*Dir[File.expand_path("../plait*/lib", __dir__)])
    require_relative "../bench/labelled/run"

    names = ENV.fetch("ONLY", "").split(",")
    exit(1) unless Labelled::Run.new(budget: Float(ENV.fetch("BUDGET", "10")), only: names).call
  end

  desc "Run these workloads on: :auto and on their best fixed rows: SECONDS=30 ONLY=tiny,burst"
  task(:auto) do
    $LOAD_PATH.unshift(*Dir[File.expand_path("../plait*/lib", __dir__)])
    require_relative "../bench/labelled/auto"

    exit(1) unless Labelled::Auto.new(seconds: Float(ENV.fetch("SECONDS", "10")), only: ENV.fetch("ONLY", "").split(",")).call
  end
end
