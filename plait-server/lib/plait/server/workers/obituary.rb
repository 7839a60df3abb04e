# frozen_string_literal: true

module Plait
  class Server
    class Workers
      # Why a process has ended, in words.
      module Obituary
        HINTS = { "KILL" => " (by somebody's hand, or because the machine's memory was used up: see dmesg)" }.freeze

        # @param status [Process::Status]
        # @param reason [String, nil] what the process itself has said
        # @return [String]
        def self.of(status, reason = nil)
          return reason if reason
          return "it ended by itself" if status.success?
          return "exit status #{status.exitstatus}" unless status.signaled?

          name = Signal.signame(status.termsig)
          "SIG#{name}#{HINTS[name]}"
        end
      end
    end
  end
end
