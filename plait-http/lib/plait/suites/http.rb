# frozen_string_literal: true

require "etc"
require "plait/suites/common/suite"
require "plait/lab"
require_relative "http/counted_workload"
require_relative "http/embedded_target"
require_relative "http/keep_alive"
require_relative "http/kept_socket"
require_relative "http/one_shot"
require_relative "http/plait_client"
require_relative "http/raw_socket"
require_relative "http/site_target"

module Plait
  module Suites
    # Net::HTTP as it comes with Ruby, sockets by hand and Plait::HTTP, on every mechanism, against an origin that takes its
    # time to answer.
    class Http < Suite
      PLACE = 30
      NAME = "http"
      TITLE = "HTTP"
      SUMMARY = "50 requests with Net::HTTP, sockets by hand and Plait::HTTP, answered after 50 ms"
      DESCRIPTION = "Net::HTTP, sockets by hand and Plait::HTTP, on new and on kept connections"
      BRIEF = {}.freeze

      # More processes than this on one machine would measure how it schedules them.
      MOST_PROCESSES = 16
      COMPOSED = %i[processes fibers].freeze
      COMPOSED_PROCESSES = 2
      MECHANISMS = [:sequence, :threads, :fibers, :hybrid, :processes, COMPOSED].freeze
      # What is counted a request hardly changes with their number, the time it takes does.
      MEMORY_REQUESTS = 20
      # Each limit for these; the others at the largest one only.
      EACH_LIMIT = %i[threads fibers].freeze

      # One way to ask: its name, where it makes sense, and what makes a body of it.
      Way = Struct.new(:name, :mechanisms, :each_limit, :by_hand, :body, keyword_init: true) do
        # @return [String] of a row
        def label(mechanism, limit)
          return name || "plain" if mechanism == :sequence

          "#{Array(mechanism).join(" × ")}#{" + #{name}" if name} (limit #{Array(limit).join(" × ")})"
        end
      end

      WAYS = [
        Way.new(mechanisms: %i[sequence threads fibers processes], each_limit: true, body: ->(row, _) { OneShot.new(row) }),
        Way.new(name: "keep-alive", mechanisms: MECHANISMS, each_limit: true, body: ->(row, _) { KeepAlive.new(row) }),
        Way.new(name: "sockets, one byte a read", mechanisms: [:fibers], by_hand: true,
                body: ->(row, _) { RawSocket.new(row, piece: 1) }),
        Way.new(name: "sockets", mechanisms: [:fibers], by_hand: true, body: ->(row, _) { RawSocket.new(row) }),
        Way.new(name: "kept sockets", mechanisms: [:fibers], by_hand: true, body: ->(row, _) { KeptSocket.new(row) }),
        Way.new(name: "Plait::HTTP", mechanisms: MECHANISMS, body: ->(row, limit) { PlaitClient.new(row, limit) })
      ].freeze

      SECONDS = ->(value) { value.is_a?(Numeric) && !value.negative? }
      WHOLE = ->(least) { ->(value) { value.is_a?(Integer) && value >= least } }
      private_constant :SECONDS, :WHOLE, :Way

      private

      # @param latency [Numeric, Array<Numeric>] seconds; a table for each
      def build(requests: 50, latency: 0.05, size: 612, url: nil, limits: nil, on: nil, **)
        check("requests", requests, "a whole number from 1 up", &WHOLE[1])
        latencies = Array(latency)
        check("latency", latency, "a number of seconds from 0 up, or several") { latencies.any? }
        latencies.each { |one| check("latency", one, "a number of seconds from 0 up", &SECONDS) }
        check("size", size, "a whole number of bytes from 0 up", &WHOLE[0])
        limits&.each { |limit| check("limit", limit, "a whole number from 1 up", &WHOLE[1]) }
        targets = targets(url, latencies, size)
        targets.map { |target| workload(name_for(target, targets), target, requests, limits || target.limits(requests), on) }
      end

      def name_for(target, targets) = targets.one? ? NAME : format("%s-%gms", NAME, target.latency * 1_000)

      def targets(url, latencies, size)
        url ? [SiteTarget.new(url)] : latencies.map { |latency| EmbeddedTarget.new(latency: latency, size: size) }
      end

      def workload(name, target, requests, limits, on)
        items = Array.new(requests) { |id| id }.freeze
        long = !target.patient?(requests) && !on&.include?(:sequence)
        rows = rows(limits)
        rows.reject! { |way,| way.by_hand } unless target.embedded?
        rows.reject! { |_, mechanism,| mechanism == :sequence } if long
        cells = rows.map { |row| cell(target, items, *row) }
        CountedWorkload.new(target, name: name, title: target.title(requests), description: DESCRIPTION, unit: "requests",
                                    cells: only(cells, on), notes: long ? [target.too_long(requests)] : [])
      end

      # @return [Array<Array(Way, Symbol, Integer)>] how to ask, mechanism and limit
      def rows(limits)
        WAYS.flat_map do |way|
          way.mechanisms.flat_map do |mechanism|
            limits_of(mechanism, way.each_limit ? limits : [limits.max]).map { |limit| [way, mechanism, limit] }
          end
        end
      end

      def limits_of(mechanism, limits)
        case mechanism
        when :sequence then [1]
        when *EACH_LIMIT then limits
        when :hybrid then [limits.max]
        when :processes then [[limits.max, MOST_PROCESSES].min]
        else [[COMPOSED_PROCESSES, (limits.max.to_f / COMPOSED_PROCESSES).ceil]]
        end
      end

      def cell(target, items, way, mechanism, limit)
        label = way.label(mechanism, limit)
        body = way.body.call(target.row(label), at_once(limit))
        Lab::Cell.new(label: label, on: mechanism, limit: limit, items: items, body: body.to_proc,
                      warmup_items: warmup_items(items, limit), memory_items: items.first(MEMORY_REQUESTS))
      end

      def at_once(limit) = Array(limit).reduce(:*)

      # Enough to open every connection that will be kept, where that takes one round trip and not one each.
      def warmup_items(items, limit) = items.first(limit == 1 ? 2 : at_once(limit))
    end
  end
end
