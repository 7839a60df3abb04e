# frozen_string_literal: true

require "json"
require "open3"
require "support/command_line"
require_relative "origin"

module Support
  # What tests of `plait fetch` have in common.
  module Fetching
    include CommandLine

    def teardown
      Origin.stop_all
      super
    end

    def origin(**options, &) = Origin.start(**options, &)

    def fetch(*arguments, **options) = plait("fetch", *arguments, **options)

    # With something on standard input.
    def fetch_fed(text, *arguments)
      program = command(["fetch", *arguments], nil)
      out, err, status = Open3.capture3(CommandLine::ENVIRONMENT, *program, chdir: folder, stdin_data: text)
      CommandLine::Result.new(out: out, err: err, status: status)
    end

    # @return [Array<Hash>] in the order of the input
    def records(text) = text.lines.map { |line| JSON.parse(line) }.sort_by { |record| record["line"] }

    def saved(name = "out.jsonl") = records(File.read(path(name)))

    def write_urls(origin, count, name: "urls")
      write(name, (1..count).map { |n| "#{origin.url("/#{n}")}\n" }.join)
    end
  end
end
