# frozen_string_literal: true

require "etc"
require_relative "suite"
require_relative "../lab"
require_relative "http/counted_workload"
require_relative "http/embedded_target"
require_relative "http/keep_alive"
require_relative "http/one_shot"
require_relative "http/site_target"

module Plait
  module Suites
    # Net::HTTP as it comes with Ruby, on every mechanism, against an origin that takes its time to answer.
    class Http < Suite
      NAME = "http"
      TITLE = "HTTP"
      SUMMARY = "50 requests with unmodified Net::HTTP, on new and on kept connections, answered after 50 ms"
      DESCRIPTION = "unmodified Net::HTTP, on new and on kept connections"
      BRIEF = {}.freeze

      # More processes than this on one machine would measure how it schedules them.
      MOST_PROCESSES = 16
      COMPOSED = %i[processes fibers].freeze
      COMPOSED_PROCESSES = 2
      MECHANISMS = [:sequence, :threads, :fibers, :hybrid, :processes, COMPOSED].freeze
      # Rows whose connections are not kept, too.
      ONE_SHOT = %i[sequence threads fibers processes].freeze
      # What is counted a request hardly changes with their number, the time it takes does.
      MEMORY_REQUESTS = 20
      # Each limit for these; the others at the largest one only.
      EACH_LIMIT = %i[threads fibers].freeze

      WHOLE = ->(least) { ->(value) { value.is_a?(Integer) && value >= least } }
      private_constant :WHOLE

      private

      def build(requests: 50, latency: 0.05, size: 612, url: nil, limits: nil, on: nil, **)
        check("requests", requests, "a whole number from 1 up", &WHOLE[1])
        check("latency", latency, "a number of seconds from 0 up") { |value| value.is_a?(Numeric) && !value.negative? }
        check("size", size, "a whole number of bytes from 0 up", &WHOLE[0])
        limits&.each { |limit| check("limit", limit, "a whole number from 1 up", &WHOLE[1]) }
        target = url ? SiteTarget.new(url) : EmbeddedTarget.new(latency: latency, size: size)
        [workload(target, requests, limits || target.limits(requests), on)]
      end

      def workload(target, requests, limits, on)
        items = Array.new(requests) { |id| id }.freeze
        rows = rows(limits)
        rows.reject! { |mechanism,| mechanism == :sequence } unless target.patient?(requests)
        cells = rows.map { |row| cell(target, items, *row) }
        CountedWorkload.new(target, name: NAME, title: target.title(requests), description: DESCRIPTION, unit: "requests",
                                    cells: only(cells, on))
      end

      # @return [Array<Array(Symbol, Integer, Class)>] mechanism, limit, and how it treats its connections
      def rows(limits)
        MECHANISMS.flat_map do |mechanism|
          bodies = ONE_SHOT.include?(mechanism) ? [OneShot, KeepAlive] : [KeepAlive]
          bodies.product(limits_of(mechanism, limits)).map { |body, limit| [mechanism, limit, body] }
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

      def cell(target, items, mechanism, limit, body)
        label = label(mechanism, limit, body)
        Lab::Cell.new(label: label, on: mechanism, limit: limit, items: items,
                      body: body.new(target.row(label)).to_proc,
                      warmup_items: warmup_items(items, limit), memory_items: items.first(MEMORY_REQUESTS))
      end

      # Enough to open every connection that will be kept, where that takes one round trip and not one each.
      def warmup_items(items, limit) = items.first(limit == 1 ? 2 : Array(limit).reduce(:*))

      def label(mechanism, limit, body)
        kept = body == KeepAlive
        return kept ? "keep-alive" : "plain" if mechanism == :sequence

        "#{Array(mechanism).join(" × ")}#{" + keep-alive" if kept} (limit #{Array(limit).join(" × ")})"
      end
    end
  end
end
