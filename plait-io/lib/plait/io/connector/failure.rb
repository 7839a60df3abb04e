# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module Io
    class Connector
      # Says why there is no connection.
      module Failure
        # What the system's own words don't tell.
        ADVICE = {
          Errno::ECONNREFUSED => "nothing listens there",
          Errno::ENOENT => "there is no such socket file",
          Errno::EACCES => "the file's or the firewall's rules forbid it",
          Errno::EMFILE => "this process may open no more descriptors: raise `ulimit -n`, or connect to fewer at once",
          Errno::ENFILE => "this machine can open no more descriptors: raise fs.file-max, or connect to fewer at once",
          Errno::EADDRNOTAVAIL => "no local port is left, or the source address is not this machine's",
          Errno::ENETUNREACH => "this machine has no route to it",
          Errno::EHOSTUNREACH => "no machine answers at this address"
        }.freeze

        module_function

        # @param errors [Array<SystemCallError>] one for each address
        # @return [ConnectError]
        def error(endpoint, errors)
          reasons = errors.map { |error| reason(error) }.uniq
          ConnectError.new("can't connect to #{endpoint}: #{reasons.join("; ")}", endpoint: endpoint, causes: errors)
        end

        # @param errors [Array<SystemCallError>] of the addresses that have failed by then
        # @return [ConnectTimeout]
        def timeout(endpoint, errors = [])
          failed = errors.map { |error| "; #{reason(error)}" }.uniq.join
          ConnectTimeout.new("no connection to #{endpoint} in time#{failed}", endpoint: endpoint, phase: :connect)
        end

        # @api private
        def reason(error)
          advice = ADVICE[error.class]
          where = error.message[/ for (.*)\z/, 1]
          ["#{error.class.new.message}#{" (#{where})" if where}", advice].compact.join(": ")
        end
      end
    end
  end
end
