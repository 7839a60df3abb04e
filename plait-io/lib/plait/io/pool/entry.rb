# frozen_string_literal: true

module Plait
  module Io
    class Pool
      # A connection in the books: for what, how often it was checked out, since when it is idle (monotonic seconds).
      Entry = Struct.new(:connection, :key, :uses, :idle_since)
    end
  end
end
