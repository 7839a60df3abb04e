# frozen_string_literal: true

require "json"
require "net/http"
require "plait/suites/common/suite"
require "plait/suites/common/companion"
require "plait/suites/common/descriptor_limit"
require "plait/lab"
require "plait/values/errors"
require "plait/values/outcome"
require_relative "apache_bench"
require_relative "figures"
require_relative "people"

module Plait
  module Suites
    class Databases < Suite
      # Runs the trials of a cell: starts the app's server, asks it for some answers, which must be the same in all cells,
      # and has it loaded.
      class Trial
        # Items whose answers are compared.
        SAMPLE = [1, 2, 99_991].freeze
        # Requests beforehand, which open the connections to the database.
        WARM_UP = 200
        # Seconds for an answer that nobody measures.
        PATIENCE = 120
        private_constant :SAMPLE, :WARM_UP, :PATIENCE

        # @return [Array<ApacheBench::Report>] of each trial
        attr_reader :reports
        # @return [Array<Hash>] of each trial, see {Figures}: the differences, but for the peak, and what was resident before
        attr_reader :figures

        # @param file [String] with the server's class
        # @param code [Proc] => Ruby that runs it; called when the database is there
        # @param gems [Array<String>] that it needs
        # @param connections [Integer]
        # @param requests [Integer]
        # @param kept [Boolean] whether connections are reused
        def initialize(file:, code:, gems:, connections:, requests:, kept:)
          @file = file
          @code = code
          @gems = gems
          @load = { connections: connections, requests: requests, kept: kept }
          @reports = []
          @figures = []
        end

        # @param cell [Lab::Cell]
        # @return [Lab::Measurement]
        def call(cell, **)
          DescriptorLimit.lift
          server = Companion.launch(@file, @code.call, gems: ["io-event", *@gems])
          @port = server.await_port(cell.label)
          measure(cell)
        rescue Error, SystemCallError, IOError, Timeout::Error => e
          Lab::Measurement.failed(cell.label, e.message)
        ensure
          server&.stop
        end

        private

        def measure(cell)
          answers = SAMPLE.map { |number| get("/?#{number}") }
          warm_up
          before = ask_for_figures
          report = ApacheBench.new.load("http://127.0.0.1:#{@port}/", **@load)
          remember(report, before, ask_for_figures)
          measurement(cell, report, answers)
        end

        def warm_up
          few = [WARM_UP, @load[:connections]].min
          ApacheBench.new.load("http://127.0.0.1:#{@port}/", connections: few, requests: WARM_UP, kept: true)
        end

        def remember(report, before, after)
          @reports << report
          grown = after.to_h { |name, value| [name, value && (value - before.fetch(name))] }
          @figures << { **grown, peak: after[:peak], resident: before[:resident] }
        end

        def measurement(cell, report, answers)
          figures = @figures.last
          Lab::Measurement.new(label: cell.label, engine: RUBY_ENGINE, items: report.complete, wall: report.seconds,
                               cpu: figures[:cpu], gc_runs: figures[:gc_runs], gc_time: figures[:gc_time], objects: nil,
                               latencies: report.percentiles.values.map { |ms| ms / 1e3 }.sort, peak: figures[:peak],
                               peak_source: figures[:peak] && :resident, errors: report.failed, first_error: failure(report),
                               results: results(answers))
        end

        def failure(report) = report.failed.positive? ? "#{report.failed} requests failed, says ab" : nil

        def results(answers)
          outcomes = SAMPLE.zip(answers).each_with_index.map do |(item, value), index|
            Outcome.new(index: index, item: item, value: value)
          end
          Lab::ResultDigest.new(outcomes)
        end

        def ask_for_figures = JSON.parse(get(Figures::PATH), symbolize_names: true)

        # A server that has just lost ten thousand connections is busy with that.
        def get(path)
          answer = Net::HTTP.start("127.0.0.1", @port, read_timeout: PATIENCE) { |http| http.get(path) }
          return answer.body if answer.is_a?(Net::HTTPSuccess)

          raise Error, "the server answered #{answer.code} to #{path}: #{answer.body}"
        end
      end
    end
  end
end
