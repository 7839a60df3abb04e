# frozen_string_literal: true

require "json"
require "securerandom"
require_relative "fence"

module Plait
  module Shard
    # Renews a proxy's entry at the nodes, by which a reshard finds the proxies that are alive. It also reads the records of the
    # placement there: it restores a record that a node has lost, and lets the proxy follow where its own file agrees.
    class Lease
      # Seconds between two renewals, and seconds that one counts.
      PERIOD = 2
      LASTS = 6
      # Proxies that are alive, by the node's own clock.
      ALIVE = <<~LUA.freeze
        redis.call('SELECT', #{Fence::DATABASE})
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local all = redis.call('HGETALL', KEYS[1])
        local alive = {}
        for i = 1, #all, 2 do
          if tonumber(string.match(all[i + 1], '^%d+')) > now then
            alive[#alive + 1] = all[i]
            alive[#alive + 1] = string.match(all[i + 1], ' (.*)')
          elseif ARGV[1] then
            redis.call('HDEL', KEYS[1], all[i])
          end
        end
      LUA
      OTHERS = "#{ALIVE} return alive".freeze
      FORGET = "redis.call('SELECT', #{Fence::DATABASE}) return redis.call('HDEL', KEYS[1], ARGV[1])".freeze
      RENEW = "#{ALIVE} redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f ', now + ARGV[2]) .. ARGV[3])".freeze

      # @return [Hash{String => Hash}] the id of each proxy that is alive, and its entry
      def self.others(connection)
        Hash[*connection.call("EVAL", OTHERS, "1", Fence::PROXIES)].transform_values { |text| JSON.parse(text) }
      end

      attr_reader :id
      # @return [String, nil] why nodes refuse the proxy's placement
      attr_reader :left_behind

      # @yieldreturn [Settings] the current ones
      def initialize(&settings)
        @settings = settings
        @id = "#{Process.pid}-#{SecureRandom.hex(4)}"
        @by = "#{Socket.gethostname}, process #{Process.pid}"
        @lock = Mutex.new
        @over = ConditionVariable.new
        @answering = []
      end

      # @param file [Proc] reads the Settings of the proxy's file again
      # @param keeps [Boolean] whether nodes that know of no placement record that of this proxy
      # @yieldparam settings [Settings] when the nodes have the placement of the file
      def follow(file, keeps:, &reload)
        @file = file
        @keeps = keeps
        @reload = reload
        @lock.synchronize { @over.signal }
      end

      def start
        @ended = false
        @thread = Thread.new { go_on }
      end

      def close
        return unless @thread

        @lock.synchronize { (@ended = true) && @over.signal }
        @thread.join unless @thread == Thread.current
        @thread = nil
        Fence.ask(@answering, @settings.call) { |connection| connection.call("EVAL", FORGET, "1", Fence::PROXIES, @id) }
      end

      # Neither restores records nor follows while the block runs, which waits for what is under way.
      # @return [Object] the block's value
      # @raise [UsageError] another block runs
      def quietly
        @lock.synchronize do
          raise UsageError, "this proxy is moving keys already" if @quiet

          @quiet = true
        end
        begin
          yield
        ensure
          @quiet = false
        end
      end

      # @param settings [Settings] of a reload that moves no keys
      # @raise [UsageError] the nodes have records of other places
      def check(settings)
        Fence.records(settings).each do |name, record|
          next if !record.there? || !record.settled? || record.serves == Fence.token(settings, name)

          raise UsageError, "these are not the places where keys are: #{record.text}. To go on without the keys, delete the " \
                            "key #{Fence::RECORD} in database #{Fence::DATABASE} of the node #{name}, and of the others"
        end
      end

      private

      def go_on
        until @ended
          beat(@settings.call)
          @lock.synchronize { @over.wait(@lock, PERIOD) unless @ended }
        end
      end

      def beat(settings)
        return if settings.source.watched?

        file = read_file
        records = Fence.ask(settings.topology.masters, settings) { |connection, name| renew(connection, name, settings, file) }
        @answering = settings.topology.masters.select { |node| records.key?(node.to_s) }
        @lock.synchronize { look(settings, file, records) unless @quiet }
      rescue StandardError
        nil # the next beat tries again; without beats, other proxies would take this one for dead
      end

      def read_file
        @file&.call
      rescue Error
        nil # a reload reports the error
      end

      def renew(connection, name, settings, file)
        entry = { by: @by, serves: Fence.token(settings, name), follows: file && Fence.token(file, name) }
        connection.call("EVAL", RENEW, "1", Fence::PROXIES, @id, LASTS * 1000, JSON.generate(entry))
        Fence.read(connection)
      end

      def look(settings, file, records)
        @left_behind = records.find { |name, record| record.there? && record.serves != Fence.token(settings, name) }&.last&.text
        restore(settings, records)
        @reload.call(file) if @left_behind && file && agree?(file, Fence.records(file))
      end

      # @return [Boolean] whether the last reshard in the records has ended with this placement
      def agree?(settings, records)
        newest = newest_of(records)
        newest.positive? && records.all? do |name, record|
          record.epoch < newest || (record.settled? && record.serves == Fence.token(settings, name))
        end
      end

      def newest_of(records) = records.each_value.map(&:epoch).max || 0

      # ---- records that nodes lack ----

      # A node missed the end of the last reshard, or came back empty or with an older record.
      def restore(settings, records)
        newest = newest_of(records)
        return begin_with(settings, records) if newest.zero? && @keeps && whole?(settings, records)

        spread(settings, records, *records.partition { |_, record| record.epoch == newest }.map(&:to_h))
      end

      # @param present [Hash{String => Record}] of the last reshard
      # @param former [Hash{String => Record}] of earlier reshards
      def spread(settings, records, present, former)
        ending = present.each_value.find(&:settled?) or return
        place = ending.state == "moved" ? :will : :was
        present.each { |name, record| rewrite(settings, name, record, ending, record[place]) unless record.settled? }
        return unless whole?(settings, records) && agree?(settings, records)

        former.each { |name, record| rewrite(settings, name, record, ending, Fence.token(settings, name)) }
      end

      def whole?(settings, records) = records.size == settings.topology.masters.size

      def begin_with(settings, records)
        text = "keys were placed first by the proxy on #{@by}, #{Time.now.utc.strftime("%FT%TZ")}; a proxy that has the same " \
               "nodes in its file is let in"
        first = Fence::Record.new("", 1, 1, "kept", "", "", "", @id, text)
        records.each { |name, record| rewrite(settings, name, record, first, Fence.token(settings, name)) }
      end

      def rewrite(settings, name, record, ending, serves)
        restored = Fence::Record.new(SecureRandom.hex(8), *ending.to_a[1..3], serves, serves, serves, @id, ending.text)
        Fence.ask(settings.topology.masters.select { |node| node.to_s == name }, settings) do |connection|
          Fence.kill_others(connection, serves) if Fence.write(connection, record.stamp, restored)
        end
      end
    end
    private_constant :Lease
  end
end
