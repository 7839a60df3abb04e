# frozen_string_literal: true

require "stringio"

module Support
  # A stream that says of itself whether it is a terminal, and how wide.
  class FakeStream < StringIO
    attr_accessor :columns

    def initialize(columns: nil)
      super(+"")
      @columns = columns
    end

    def tty? = !@columns.nil?

    def winsize = [40, @columns]
  end
end
