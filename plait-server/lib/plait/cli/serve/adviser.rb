# frozen_string_literal: true

require "etc"
require "plait/lab"
require "plait/lab/judgement"
require "plait/lab/statistics"
require_relative "load"
require_relative "subject"

module Plait
  module CLI
    class Serve < Command
      # One way to serve: a mechanism, how many requests at once in a worker process (nil: as the server has it), and workers.
      Row = Struct.new(:on, :limit, :workers) do
        # @return [Array<Integer>] sorts rows by how simple they are
        def simplicity = [workers, *Plait::Lab::Judgement.simplicity(on, limit || 1)]

        def to_s
          kind = on == :puma ? "threads" : on.to_s
          ["#{"Puma, " if on == :puma}#{"#{limit} " if limit}#{limit == 1 ? kind.delete_suffix("s") : kind}" \
           "#{" a worker" if limit && workers > 1}", ("#{workers} workers" if workers > 1)].compact.join(", ")
        end

        # @return [String] the command that serves so
        def command(rackup)
          return "puma --threads #{limit}:#{limit} --workers #{workers} #{rackup}" if on == :puma

          "plait serve #{rackup} --on #{on}#{" --limit #{limit}" if limit} --workers #{workers}"
        end

        # @return [Hash{Symbol => Object}] of a configuration
        def settings = to_h.compact
      end

      # Finds out with how many threads or fibers, and in how many workers, an app answers most requests: what a request does,
      # each row once in one worker, then the best rows round by round, then the latency at a rate that users make.
      class Adviser
        THREADS = [1, 2, 3, 5, 8, 16].freeze
        # Limits in the order in which they are tried; no limit is that of fibers. The first ones tell most.
        ORDER = [1, 16, nil, 5, 3, 8, 2].freeze
        # Rows that are tried though the time is up.
        ENOUGH = 4
        MECHANISMS = %i[threads fibers hybrid].freeze
        FIRST = Row.new(:threads, 1, 1).freeze
        # Shares of the budget: the first look, the rows, the rounds; latencies have the rest.
        LOOK = 0.07
        SCAN = 0.45
        ROUNDS = 0.8
        # Rows in one worker within this factor of the best one go on.
        NEAR = 1.15
        # Rounds after which a row this much slower than the best one gets no more.
        SEEN = 3
        HOPELESS = 1.25
        # Rows that go on, in one worker.
        MOST = 3
        # Requests whose status is shown.
        MOST_LINES = 20
        # Seconds of a trial.
        TRIAL = 0.3..3.0
        # Seconds in which latencies of a row are measured.
        LATENCIES = 1.0..10.0
        # Requests a second of the best row that users make, where no rate is given.
        USUAL = 0.7

        # What is known of an app.
        #
        # - `series` seconds a request, by row and round; `scanned` likewise, of one trial
        # - `wall` and `held` seconds that a request takes alone, and computes
        # - `latencies` in seconds at `rate` requests a second, by row; `memory` bytes by row
        # - `excluded` rows that can't serve the app, each with the reason
        Findings = Struct.new(:series, :scanned, :wall, :held, :rate, :latencies, :memory, :excluded, :interrupted,
                              keyword_init: true) do
          # @return [Lab::Judgement, nil] nil before there is a round
          def judgement = (Plait::Lab::Judgement.new(series.sort_by { |row, _| row.simplicity }.to_h) if series.any?)

          # @return [Float] seconds a request
          def median(row) = Plait::Lab::Statistics.new(series.fetch(row)).median

          def medians = series.to_h { |row, _| [row, median(row)] }
        end

        # @param requests [Array] see {Load}
        # @param concurrency [Integer] requests at once
        # @param rate [Numeric, nil] requests a second at which latencies are measured
        # @param among [Array<Symbol>, nil] mechanisms
        # @param note [#call] takes what is done next
        def initialize(rackup, requests, concurrency:, budget:, rate: nil, among: nil, environment: nil, headers: {}, note: nil)
          @rackup = rackup
          @requests = requests
          @concurrency = concurrency
          @budget = budget
          @among = among || MECHANISMS
          @environment = environment
          @headers = headers
          @note = note
          @found = Findings.new(series: {}, scanned: {}, rate: rate, latencies: {}, memory: {}, excluded: {})
          @subjects = {}
        end

        # @return [Findings] also after Ctrl-C, with what was learned until then
        # @raise [UsageError] the app can't be loaded, or fails one request at a time
        def call
          @began = Deadline.now
          look
          scan
          compare(finalists)
          measure_latencies
          @found
        rescue Interrupt
          @found.interrupted = true
          @found
        ensure
          @subjects.each_value(&:stop)
        end

        private

        def tell(what) = @note&.call(what)

        def left(share) = (share * @budget) - (Deadline.now - @began)

        # What one request does, one at a time.
        def look
          tell("the app is loaded, and each request is sent once")
          with(FIRST) do |subject, load|
            load.each_once.first(MOST_LINES).each { |request, answer| tell("  #{request}: #{answer}") }
            one_at_a_time(subject, load)
          end
        rescue Subject::Failed => e
          raise UsageError, "#{@rackup} can't be measured: #{e.message}"
        end

        def one_at_a_time(subject, load)
          before = subject.processor_time
          result = load.closed(1, [left(LOOK), TRIAL.min].max)
          raise UsageError, failing(result, subject) if result.failure

          @found.wall = result.wall / result.count
          @found.held = [(subject.processor_time - before) / result.count, @found.wall].min
        end

        def failing(result, subject)
          "#{@rackup}: #{result.failure}, one request at a time#{": #{subject.complaint}" if subject.complaint}"
        end

        def rows
          threads = (@found.held > @found.wall * 0.9 ? THREADS.first(4) : THREADS).select { |number| number <= @concurrency }
          all = threads.map { |number| Row.new(:threads, number, 1) } + %i[fibers hybrid].map { |on| Row.new(on, nil, 1) }
          all.select { |row| @among.include?(row.on) }.sort_by { |row| ORDER.index(row.limit) }
        end

        def scan
          tell("#{rows.size} rows in one worker, each once")
          rows.each_with_index do |row, number|
            break if left(SCAN).negative? && @found.scanned.size >= ENOUGH

            seconds = (left(SCAN) / (rows.size - number)).clamp(TRIAL)
            with(row) { |subject, load| @found.scanned[row] = trial(row, subject, load, seconds) }
          end
          @found.scanned.compact!
        end

        # @return [Float, nil] seconds a request
        def trial(row, subject, load, seconds)
          load.closed(@concurrency, TRIAL.min) if @found.memory[row].nil?
          result = load.closed(@concurrency, seconds)
          @found.memory[row] = subject.memory
          return exclude(row, result.failure) if result.failure

          result.wall / result.count
        end

        def exclude(row, reason)
          @found.excluded[row] ||= reason
          @found.series.delete(row)
          nil
        end

        # The best row of each mechanism, in one worker and in one a processor.
        def finalists
          rows = near_best(@found.scanned.group_by { |row, _| row.on }.values.map { |some| smallest(some) })
          more = rows.map { |row| Row.new(row.on, row.limit, Etc.nprocessors) }
          [base, *rows, *more, puma].compact.uniq.sort_by(&:simplicity)
        end

        # Beside the best number of threads.
        def puma
          threads = @found.scanned.select { |row, _| row.on == :threads }
          return unless threads.any? && PumaSubject.available?

          Row.new(:puma, smallest(threads.to_a).first.limit, Etc.nprocessors)
        end

        def near_best(scanned)
          best = scanned.map(&:last).min
          scanned.select { |_, time| time <= best * NEAR }.sort_by(&:last).first(MOST).map(&:first)
        end

        # More threads than are needed only add latency.
        def smallest(some)
          best = some.map(&:last).min
          some.sort_by { |row, _| row.simplicity }.find { |_, time| time <= best * Plait::Lab::Judgement::SAME }
        end

        # What all rows are held against.
        def base = (FIRST if @found.scanned.key?(FIRST)) || @found.scanned.keys.first

        def compare(rows)
          tell("#{rows.join("; ")}: round by round")
          rows.each { |row| keep(row) }
          seconds = (left(ROUNDS) / (rows.size * 10)).clamp(TRIAL)
          round(seconds) until enough?
        end

        def keep(row)
          @subjects[row] ||= subject(row).start
        rescue Subject::Failed => e
          exclude(row, e.message)
        end

        # Of each row that has a server.
        def round(seconds)
          @subjects.keys.shuffle.each do |row|
            time = trial(row, @subjects[row], load(@subjects[row]), seconds)
            time ? (@found.series[row] ||= []) << time : @subjects.delete(row).stop
          end
          drop_hopeless if @found.series.any? && @found.series.values.map(&:size).min >= SEEN
        end

        # So that the others get more rounds.
        def drop_hopeless
          times = @found.medians
          hopeless = times.select { |row, time| row != base && time > times.values.min * HOPELESS }
          hopeless.each do |row, time|
            @subjects.delete(row).stop
            @found.series.delete(row)
            @found.scanned[row] = time
          end
        end

        def enough?
          return true if @subjects.empty?
          return false if @found.series.empty?

          left(ROUNDS) <= 0 || @found.judgement.settled?
        end

        # Of the best row, and of the best one of each other mechanism.
        def measure_latencies
          return if @found.series.empty?

          best, *others = rows_of_latencies
          tell("latency at #{@found.rate} requests a second")
          [best, *others].each_with_index do |row, number|
            latencies(row, (left(1) / (others.size + 1 - number)).clamp(LATENCIES))
          end
        end

        def rows_of_latencies
          times = @found.medians
          best = @found.judgement.favourite
          @found.rate ||= (USUAL / times[best]).round(1)
          [best, *best_of_others(best.on, times.select { |_, time| time <= times[best] * HOPELESS })]
        end

        def best_of_others(mechanism, times)
          times.group_by { |row, _| row.on }.except(mechanism).values.map { |some| some.min_by(&:last).first }
        end

        def latencies(row, seconds)
          result = load(@subjects.fetch(row)).at_rate(@found.rate, [@concurrency * 4, 64].min, seconds)
          return exclude(row, "#{result.failure}, at #{@found.rate} requests a second") if result.failure

          @found.latencies[row] = result.latencies
        end

        # @yield a server that has ended afterwards
        def with(row)
          @subjects[row] = subject(row).start
          yield @subjects[row], load(@subjects[row])
        rescue Subject::Failed => e
          raise if row == FIRST && @found.wall.nil?

          exclude(row, e.message)
        ensure
          @subjects.delete(row)&.stop
        end

        def subject(row)
          kind = row.on == :puma ? PumaSubject : Subject
          kind.new(@rackup, { environment: @environment, **row.settings }.compact)
        end

        def load(subject) = Load.new(subject.port, @requests, headers: @headers)
      end
    end
  end
end
