# frozen_string_literal: true

require "plait/suites/common/suite"
require_relative "exchange"

module Plait
  module Suites
    class Shard < Suite
      # What a row does: its name, which stands over its table, and a list of exchanges.
      module Tasks
        # SET and GET of values of one size, over some keys.
        class Values
          KEYS = 4
          # As many as move so many bytes, but not more commands than this.
          BYTES = 128 << 20
          COMMANDS = 8_000
          UNITS = { (1 << 20) => "MiB", (1 << 10) => "KiB", 1 => "B" }.freeze
          private_constant :BYTES, :COMMANDS, :UNITS

          # @param bytes [Integer] of a value
          # @param scale [Numeric] share of the full number of commands
          def initialize(bytes, scale)
            @bytes = bytes
            @rounds = ([COMMANDS, BYTES / bytes].min * scale / (KEYS * 2)).ceil
          end

          # @return [String]
          def name
            size, unit = UNITS.find { |least, _| @bytes >= least }
            "SET and GET of #{@bytes / size} #{unit}"
          end

          # @return [Array<Exchange>]
          def exchanges
            @exchanges ||= Array.new(KEYS) { |i| pair("value:#{i}", ((i + 97).chr * @bytes).b) }.flatten * @rounds
          end

          private

          def pair(key, value)
            [Exchange.done("SET", key, value), Exchange.exact("$#{value.bytesize}\r\n".b << value << "\r\n", "GET", key)]
          end
        end

        # KEYS over keys that are there.
        class Keys
          # Lua, since nothing else writes a million of them in a second.
          FILL = "for i = ARGV[1], ARGV[2] do redis.call('SET', string.format('key:%08d', i), '') end return 1"
          # A script that takes too long would be complained of.
          PORTION = 50_000
          NAME = /key:\d{8}/
          private_constant :FILL, :PORTION, :NAME

          # @param count [Integer]
          def initialize(count)
            @count = count
          end

          # @return [Array<Exchange>]
          def exchanges
            size = "*#{@count}\r\n".bytesize + (@count * "$12\r\nkey:00000000\r\n".bytesize)
            [Exchange.new(request: Exchange.encode(%w[KEYS *]), size: size, right: method(:all?))]
          end

          # @param nodes [Integer] between which they are to be divided
          # @return [Array<Array<Exchange>>] for each node, what writes its part
          def fill(nodes)
            (1..@count).each_slice(@count.fdiv(nodes).ceil).map do |part|
              part.each_slice(PORTION).map { |some| Exchange.exact(":1\r\n", "EVAL", FILL, "0", some.first.to_s, some.last.to_s) }
            end
          end

          private

          def all?(bytes) = bytes.scan(NAME).uniq.size == @count
        end

        # One MSET of many long keys with long values.
        class Mset
          KEY = 1024
          VALUE = 8192

          # @param count [Integer] of keys
          def initialize(count)
            @count = count
          end

          # @return [Array<Exchange>]
          def exchanges
            @exchanges ||= [Exchange.done("MSET", *Array.new(@count) { |i| [i.to_s.rjust(KEY, "k"), "v" * VALUE] }.flatten)]
          end
        end
      end
    end
  end
end
