# frozen_string_literal: true

module Plait
  module CLI
    # The exit statuses. The numbers from 64 up come from BSD's sysexits.h; 130 is 128 + SIGINT.
    module ExitStatus
      OK = 0
      # The work ran and failed: results differ between mechanisms, or an item raised.
      FAILED = 1
      # The command line or a file given on it is wrong; nothing was run.
      USAGE = 2
      # Something outside, such as the origin of --url, can't be reached.
      UNAVAILABLE = 69
      # A bug in Plait itself.
      SOFTWARE = 70
      # A report can't be written.
      CANT_CREATE = 73
      # The system forbids what the command needs, such as fork.
      NO_PERMISSION = 77
      # By Ctrl-C; by another signal, 128 and its number.
      INTERRUPTED = 130
    end
  end
end
