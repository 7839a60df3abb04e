# frozen_string_literal: true

require "etc"
require "zlib"
require_relative "common/jruby"
require_relative "common/programs"
require_relative "../lab"

module Plait
  module Suites
    # Work for the processor: in C that releases the GVL, in Ruby that holds it, and both where there is no GVL.
    class Computing < Suite
      # The longest Collatz chain among some numbers: plain Ruby that allocates nothing and never lets go of the GVL.
      module Collatz
        NAME = "computing-ruby"
        UNIT = "ranges"
        WORK = "computes in Ruby"
        DESCRIPTION = "pure Ruby, which holds the GVL: only processes and ractors use more than one core"
        NUMBERS = 40_000
        FIRST = 1_000_000

        # @param count [Integer] numbers to try
        # @return [Array(Integer, Integer)] the number with the longest chain, and its length
        def self.longest(first, count)
          best = [first, 0]
          first.upto(first + count - 1) do |number|
            steps = chain(number)
            best = [number, steps] if steps > best[1]
          end
          best
        end

        # @return [Integer] steps from the number to 1
        def self.chain(number)
          steps = 0
          until number == 1
            number = number.even? ? number >> 1 : (3 * number) + 1
            steps += 1
          end
          steps
        end

        # A constant of a module, since a ractor may only run a block whose self it can share.
        BODY = ->((first, count)) { longest(first, count) }

        # @param scale [Numeric] of how many numbers are tried
        # @return [Array<Array(Integer, Integer)>] first number and how many, one pair for each range
        def self.items(count, scale)
          numbers = (NUMBERS * scale).ceil
          Array.new(count) { |index| [FIRST + (index * numbers), numbers].freeze }.freeze
        end

        def self.title(count, scale)
          format("Computing in Ruby: the longest Collatz chain in %d × %d numbers", count, (NUMBERS * scale).ceil)
        end
      end

      # Random hex, deflated: C code that releases the GVL while it computes.
      module Deflation
        NAME = "computing-zlib"
        UNIT = "strings"
        WORK = "computes in C: Zlib"
        DESCRIPTION = "C code that releases the GVL: threads use all cores, as processes and ractors do"
        BYTES = 8_000_000

        # From a seed, in the worker: 8 MB through a pipe would measure the pipe. It takes a twentieth of the deflation.
        # A constant of a module, since a ractor may only run a block whose self it can share.
        BODY = lambda do |(seed, bytes)|
          deflated = Zlib::Deflate.deflate(Random.new(seed).bytes(bytes / 2).unpack1("H*"))
          [deflated.bytesize, Zlib.crc32(deflated)]
        end

        # @param scale [Numeric] of the strings' lengths
        # @return [Array<Array(Integer, Integer)>] seed and bytes of each string
        def self.items(count, scale) = Array.new(count) { |seed| [seed, (BYTES * scale).ceil].freeze }.freeze

        def self.title(count, scale) = format("Computing in C: %d × deflate of %g MB of random hex", count, BYTES * scale / 1e6)
      end

      # Runs the trials of a row on another Ruby: each in a new subprocess, which measures as the lab does, and sends its
      # Measurement back.
      class OnOtherRuby
        # Until Java has started and the files are loaded, on a slow machine.
        START_SECONDS = 60
        # These variables are meant for a Ruby like this process, not for JRuby.
        ENVIRONMENT = %w[RUBYOPT RUBYLIB GEM_HOME GEM_PATH BUNDLE_GEMFILE].to_h { |name| [name, nil] }.freeze
        ANSWER = "measured "

        # Without RubyGems, which take a second there; resolv, which net/http needs, then misses rbconfig.
        # @param jruby [JRuby]
        # @param call [String] Ruby that gives the row's cell there
        # @return [OnOtherRuby]
        def self.jruby(jruby, call) = new([*jruby.command, "--disable=gems", "-rrbconfig"], ENVIRONMENT, call)

        # This Ruby, which has YJIT and does not use it.
        # @param call [String] as for {.jruby}
        # @return [OnOtherRuby]
        def self.yjit(call) = new([RbConfig.ruby, "--yjit"], {}, call)

        # @param command [Array<String>] of the Ruby
        # @param environment [Hash{String => String, nil}]
        # @param call [String] Ruby that gives the row's cell there
        def initialize(command, environment, call)
          @command = command
          @environment = environment
          @call = call
        end

        # @param cell [Lab::Cell] the row
        # @param warmup [Integer] passes before the one that counts
        # @param bound [Numeric] seconds after which the trial counts as hung
        def call(cell, warmup:, bound:)
          measurement(cell, Programs.run(command(warmup), bound: bound + START_SECONDS, environment: @environment))
        end

        private

        def command(warmup)
          library = File.expand_path("../..", __dir__)
          [*@command, "-I#{library}", "-rplait", "-rplait/suites/computing", "-e", script(warmup)]
        end

        def script(warmup)
          "measurement = Plait::Lab.const_get(:Trial).new(#{@call}, warmup: #{warmup}).run; " \
            "puts %(#{ANSWER}) + [Marshal.dump(measurement)].pack(%(m0))"
        end

        def measurement(cell, found)
          return failed(cell, "it had no result in time, so its process was killed", :hung) unless found.status

          line = found.output.lines.find { |one| one.start_with?(ANSWER) }
          return failed(cell, "that Ruby ended without a result: #{reason(found.output + found.error)}", :died) unless line

          load(line).tap { |measurement| measurement.label = cell.label }
        end

        def failed(cell, reason, kind) = Lab::Measurement.failed(cell.label, reason, kind)

        def reason(text)
          lines = text.lines.map(&:strip).reject(&:empty?)
          lines.grep(/Error|Exception/).first || lines.last || "it said nothing"
        end

        # Written by a process of ours.
        def load(line) = Marshal.load(line.delete_prefix(ANSWER).unpack1("m")) # rubocop:disable Security/MarshalLoad
      end

      PLACE = 30
      NAME = "computing"
      TITLE = "Computing"
      SUMMARY = "16 × Zlib::Deflate.deflate of 8 MB, which releases the GVL, and pure Ruby, which holds it"
      BRIEF = { scale: 0.06, jruby: false, yjit: false }.freeze
      # Seconds, see {Waiting::BUDGET}.
      BUDGET = 600.0

      ITEMS = 16
      MECHANISMS = %i[sequence threads fibers hybrid processes ractors].freeze
      # It has no fork and no ractors, and its fibers are threads.
      JRUBY_MECHANISMS = %i[sequence threads].freeze
      YJIT_MECHANISMS = %i[sequence threads processes].freeze
      BODIES = [Deflation, Collatz].freeze
      # Of the scale, for the passes that are not timed. JRuby compiles what has run for a while.
      WARMUP_SHARE = { "ruby" => 1.0 / 16, "jruby" => 1.0 / 2 }.freeze
      MEMORY_SHARE = 1.0 / 16
      MEMORY_ITEMS = 4

      # A cell of this suite, as the other Ruby builds it again.
      def self.cell(work, mechanism, scale, **options)
        cores = Etc.nprocessors
        warmup = work.items(cores, scale * WARMUP_SHARE.fetch(RUBY_ENGINE, 1.0))
        Lab::Cell.new(on: mechanism, limit: mechanism == :sequence ? 1 : cores, items: work.items(ITEMS, scale),
                      body: work::BODY, warmup_items: warmup,
                      memory_items: work.items(MEMORY_ITEMS, scale * MEMORY_SHARE), **options)
      end

      NO_GVL = "JRuby has no GVL: threads use all cores"
      JRUBY_NOTE = "Each trial in a new JVM, after a warm-up; starting it (seconds) is not in the figures."

      private

      def build(scale: 1.0, on: nil, jruby: true, yjit: true, **)
        check_scale(scale)
        jruby &&= RUBY_ENGINE == "jruby" ? nil : JRuby.find
        here = BODIES.map { |work| workload(work, scale, on, jruby) }
        here + (jruby ? jruby_workloads(jruby, scale, on) : []) + (yjit && yjit? ? yjit_workloads(scale, on) : [])
      end

      # @return [Boolean] this Ruby has it, and runs without it
      def yjit? = defined?(RubyVM::YJIT) && !RubyVM::YJIT.enabled?

      def allows?(mechanisms, on) = on.nil? || on.intersect?(mechanisms)

      def jruby_workloads(jruby, scale, on)
        allows?(JRUBY_MECHANISMS, on) ? BODIES.map { |work| jruby_workload(jruby, work, scale, on) } : []
      end

      def workload(work, scale, on, jruby)
        cells = MECHANISMS.map { |mechanism| Computing.cell(work, mechanism, scale) }
        on_jruby = RUBY_ENGINE == "jruby"
        Lab::Workload.new(name: work::NAME, title: work.title(ITEMS, scale), unit: work::UNIT, cells: only(cells, on),
                          work: work::WORK, description: on_jruby ? NO_GVL : work::DESCRIPTION,
                          notes: jruby || on_jruby ? [] : [JRuby::ADVICE])
      end

      def jruby_workload(jruby, work, scale, on)
        cells = JRUBY_MECHANISMS.map { |mechanism| jruby_cell(jruby, work, mechanism, scale) }
        Lab::Workload.new(name: "#{work::NAME}-jruby", title: "#{work.title(ITEMS, scale)}, on JRuby", unit: work::UNIT,
                          work: "#{work::WORK}, on JRuby", description: NO_GVL, cells: only(cells, on), notes: [JRUBY_NOTE])
      end

      def jruby_cell(jruby, work, mechanism, scale)
        Computing.cell(work, mechanism, scale, label: "#{mechanism} on JRuby",
                                               runner: OnOtherRuby.jruby(jruby, call(work, mechanism, scale)))
      end

      # Each row without YJIT, and with it: they do the same work, so that the table compares all.
      def yjit_workloads(scale, on)
        return [] unless allows?(YJIT_MECHANISMS, on)

        cells = only(YJIT_MECHANISMS.map { |mechanism| Computing.cell(Collatz, mechanism, scale) }, on).flat_map do |cell|
          [cell, Computing.cell(Collatz, cell.on, scale, label: "#{cell.label} with YJIT",
                                                         runner: OnOtherRuby.yjit(call(Collatz, cell.on, scale)))]
        end
        title = "#{Collatz.title(ITEMS, scale)}, with and without YJIT"
        [Lab::Workload.new(name: "#{Collatz::NAME}-yjit", title: title, unit: Collatz::UNIT, work: "#{Collatz::WORK}, with YJIT",
                           description: Collatz::DESCRIPTION, cells: cells)]
      end

      def call(work, mechanism, scale) = "Plait::Suites::Computing.cell(#{work.name}, :#{mechanism}, #{scale})"
    end
  end
end
