# frozen_string_literal: true

require_relative "../mechanism"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # What travels through the pipes: a header of fixed size, whose last field is the length of the payload, and the
      # payload.
      module Frames
        # A header's fields for Array#pack, and its bytes.
        Header = Struct.new(:format, :size)

        # Parent to child: number of items, length.
        PARCEL = Header.new("LQ", 12).freeze
        # Child to parent: kind, lane, attempts, index, started, finished, length.
        ANSWER = Header.new("LSLQEEQ", 42).freeze

        # The kinds of answers, from a number that hardly anything else begins with.
        #
        # VALUE and ERROR answer for an item. RECEIVED: "index" items have arrived in all, the next of them is about to
        # be run. ATTEMPT: one at an item begins, sent only where there is a timeout or there are retries; "started" is
        # when its block began, 0 while it is not running. RETURNED: items given back without having been run, their
        # indexes in the payload. CRASH: the child itself failed, and how. REFUSED: the system gives it no threads, and
        # what it said.
        KINDS = 0x506c61
        VALUE, ERROR, RECEIVED, ATTEMPT, RETURNED, CRASH, REFUSED = *(KINDS << 8)..((KINDS << 8) + 6)

        # Payloads above this travel as they are instead of being joined with their header.
        LARGE = 65_536
      end

      # Something that is no frame came through a pipe.
      class Garbage < StandardError; end
    end
  end
end
