# frozen_string_literal: true

require "etc"
require_relative "common/suite"
require_relative "../lab"
require_relative "computing/collatz"
require_relative "computing/deflation"
require_relative "computing/on_jruby"
require_relative "common/jruby"

module Plait
  module Suites
    # Work for the processor: in C that releases the GVL, in Ruby that holds it, and both where there is no GVL.
    class Computing < Suite
      PLACE = 20
      NAME = "computing"
      TITLE = "Computing"
      SUMMARY = "16 × Zlib::Deflate.deflate of 8 MB, which releases the GVL, and pure Ruby, which holds it"
      BRIEF = { scale: 0.25 }.freeze

      ITEMS = 16
      MECHANISMS = %i[sequence threads fibers hybrid processes ractors].freeze
      # It has no fork and no ractors, and its fibers are threads.
      JRUBY_MECHANISMS = %i[sequence threads].freeze
      BODIES = [Deflation, Collatz].freeze
      # Of the scale, for the passes that are not timed. JRuby compiles what has run for a while.
      WARMUP_SHARE = { "ruby" => 1.0 / 16, "jruby" => 1.0 / 2 }.freeze
      MEMORY_SHARE = 1.0 / 16
      MEMORY_ITEMS = 4

      # A cell of this suite, as the other Ruby builds it again.
      # @return [Lab::Cell]
      def self.cell(work, mechanism, scale, **options)
        cores = Etc.nprocessors
        warmup = work.items(cores, scale * WARMUP_SHARE.fetch(RUBY_ENGINE, 1.0))
        Lab::Cell.new(on: mechanism, limit: mechanism == :sequence ? 1 : cores, items: work.items(ITEMS, scale),
                      body: work::BODY, warmup_items: warmup,
                      memory_items: work.items(MEMORY_ITEMS, scale * MEMORY_SHARE), **options)
      end

      NO_GVL = "JRuby has no GVL: threads use all cores"
      JRUBY_NOTE = "Each trial in a new JVM, after a warm-up; starting it (seconds) is not in the figures."
      private_constant :NO_GVL, :JRUBY_NOTE

      private

      def build(scale: 1.0, on: nil, **)
        check("scale", scale, "a number above 0") { |value| value.is_a?(Numeric) && value.positive? }
        jruby = RUBY_ENGINE == "jruby" ? nil : JRuby.find
        here = BODIES.map { |work| workload(work, scale, on, jruby) }
        there = jruby && allows_jruby?(on) ? BODIES.map { |work| jruby_workload(jruby, work, scale, on) } : []
        here + there
      end

      def allows_jruby?(on) = on.nil? || on.intersect?(JRUBY_MECHANISMS)

      def workload(work, scale, on, jruby)
        cells = MECHANISMS.map { |mechanism| Computing.cell(work, mechanism, scale) }
        on_jruby = RUBY_ENGINE == "jruby"
        Lab::Workload.new(name: work::NAME, title: work.title(ITEMS, scale), unit: work::UNIT, cells: only(cells, on),
                          description: on_jruby ? NO_GVL : work::DESCRIPTION,
                          notes: jruby || on_jruby ? [] : [JRuby::ADVICE])
      end

      def jruby_workload(jruby, work, scale, on)
        cells = JRUBY_MECHANISMS.map { |mechanism| jruby_cell(jruby, work, mechanism, scale) }
        Lab::Workload.new(name: "#{work::NAME}-jruby", title: "#{work.title(ITEMS, scale)}, on JRuby", unit: work::UNIT,
                          description: NO_GVL, cells: only(cells, on), notes: [JRUBY_NOTE])
      end

      def jruby_cell(jruby, work, mechanism, scale)
        call = "Plait::Suites::Computing.cell(#{work.name}, :#{mechanism}, #{scale})"
        Computing.cell(work, mechanism, scale, label: "#{mechanism} on JRuby", runner: OnJRuby.new(jruby, call))
      end
    end
  end
end
