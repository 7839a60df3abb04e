# frozen_string_literal: true

require "zlib"
require_relative "../common/suite"

module Plait
  module Suites
    class Computing < Suite
      # Random hex, deflated: C code that releases the GVL while it computes.
      module Deflation
        NAME = "computing-zlib"
        UNIT = "strings"
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

        # @return [String]
        def self.title(count, scale)
          format("Computing in C: %d × deflate of %g MB of random hex", count, BYTES * scale / 1e6)
        end
      end
    end
  end
end
