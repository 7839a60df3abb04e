# frozen_string_literal: true

require "minitest"
require "rbconfig"

module Support
  # A wait in C that keeps the GVL: no other thread of this process runs meanwhile. Not by Fiddle, which is no part of Ruby
  # from 4.0 on.
  module Stuck
    # Numbers of nanosleep(2).
    NANOSLEEP = { "x86_64-linux" => 35, "aarch64-linux" => 101 }.freeze

    module_function

    # @param seconds [Numeric]
    # @raise [Minitest::Skip] where the number is not known
    def call(seconds)
      number = NANOSLEEP[RUBY_PLATFORM.delete_suffix("-gnu")]
      raise Minitest::Skip, "which system call sleeps is not known on #{RUBY_PLATFORM}" unless number

      whole, rest = seconds.divmod(1)
      time = [whole, (rest * 1_000_000_000).to_i].pack("q2")
      verbose, $VERBOSE = $VERBOSE, nil # Ruby warns that Fiddle is safer
      syscall(number, [time].pack("p").unpack1("J"), 0)
    ensure
      $VERBOSE = verbose
    end
  end
end
