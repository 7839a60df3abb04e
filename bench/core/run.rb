# frozen_string_literal: true

# bin/bench core: the mechanisms and the scheduler against their peers.

require_relative "../harness"

exit(Bench::Harness::Command.run(__dir__))
