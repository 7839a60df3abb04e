# frozen_string_literal: true

# The process of one contestant in one round: `ruby child.rb quick|full FILE CASE CONTESTANT` prints one line of JSON.

require_relative "definition"
require_relative "trial"

mode, file, case_name, contestant_name = ARGV
Bench::Harness.quick = mode == "quick"

# Thousands of connections or pipes need more descriptors than the soft limit usually allows.
Process.setrlimit(:NOFILE, Process.getrlimit(:NOFILE).last)

require file
bench_case = Bench::Harness.cases.find { |candidate| candidate.name == case_name }
trial = Bench::Harness::Trial.new(bench_case.sizes)
bench_case.contestant(contestant_name).body.call(trial)
trial.finish
