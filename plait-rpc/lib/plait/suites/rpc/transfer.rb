# frozen_string_literal: true

require_relative "../../protocols/messagepack_rpc"
require_relative "../../rpc"

module Plait
  module Suites
    class Rpc < Suite
      # A long String of different blocks: the two ends of an answer show whether it is the one that was asked for.
      class Blocks
        # Bytes.
        SIZE = 64 * 1024
        # Blocks of a megabyte.
        PER_MEGABYTE = 16
        NUMBER = "Q>"
        NUMBER_BYTES = 8
        FILL = ("plait".b * SIZE).byteslice(0, SIZE - (2 * NUMBER_BYTES)).freeze

        # An answer that is not the one to its call.
        class WrongAnswer < Error; end

        def initialize(count)
          @text = Array.new(count) { |number| block(number) }.join.freeze
        end

        # @return [String] so many blocks from there on; not copied
        def at(first, count) = @text.byteslice(first * SIZE, count * SIZE)

        # @param data [String] the blocks, if all went well
        # @return [Integer] its bytes
        # @raise [WrongAnswer]
        def self.verify(data, first, count)
          ends = [data.bytesize, number_at(data, 0), number_at(data, data.bytesize - NUMBER_BYTES)]
          return data.bytesize if ends == [count * SIZE, first, first + count - 1]

          raise WrongAnswer, "#{count} blocks from #{first} on were asked for, and bytes, first and last are #{ends.inspect}"
        end

        def self.number_at(data, offset) = data.byteslice(offset, NUMBER_BYTES).unpack1(NUMBER)

        private

        # Its number is at both of its ends.
        def block(number)
          mark = [number].pack(NUMBER)
          "#{mark}#{FILL}#{mark}"
        end
      end

      # Ways to move some megabytes to the caller. An item is the first block and the number of blocks.
      module Transfer
        # A call takes as long as it takes: the lab has a bound of its own for what hangs.
        OPTIONS = { timeout: nil, limits: { message: 1 << 30 } }.freeze
        # Calls among which a map divides them.
        PIECES = 16

        class << self
          # @return [Array<Array(Integer, Integer)>] the parts of an item, as many as there are, at least a block each
          def divide(count, parts)
            size = count / parts
            Array.new(parts) { |part| [part * size, size] }
          end

          # @return [Proc] copies in memory: the least that moving it can cost
          def copy(blocks) = moving { |first, count| String.new(capacity: count * Blocks::SIZE) << blocks.at(first, count) }

          # @return [Proc] packs and unpacks, and sends nothing
          def pack(blocks)
            codec = Protocols::MessagePackRPC::Codec.new
            moving { |first, count| codec.unpack([*codec.pack(blocks.at(first, count))].join) }
          end

          # @yieldreturn [String] the blocks
          # @return [Proc] item => bytes
          def moving = ->(item) { Blocks.verify(yield(*item), *item) }
        end

        # Makes calls by a client that all threads share.
        class Caller
          # @param on [Symbol] what the server runs its methods on
          def initialize(servers, on)
            @servers = servers
            @on = on
            @lock = Mutex.new
          end

          # @return [Proc] calls, and waits for the answer
          def sync = Transfer.moving { |first, count| client.call(:give, first, count) }

          # @return [Proc] calls, and waits for the answer later
          def async = Transfer.moving { |first, count| client.call_async(:give, first, count).get }

          # @return [Proc] calls for pieces, all at once
          def map
            lambda do |(first, count)|
              parts = Transfer.divide(count, PIECES).map { |start, size| [first + start, size] }
              client.map(:give, parts).zip(parts).sum { |data, part| Blocks.verify(data, *part) }
            end
          end

          private

          # Where the servers are is not known before they run.
          def client = @client || @lock.synchronize { @client ||= RPC::Client.new(@servers.endpoint(@on), **OPTIONS) }
        end
      end
    end
  end
end
