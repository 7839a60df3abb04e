# frozen_string_literal: true

require "plait"
require "plait/mechanisms/fibers"
require "plait/mechanisms/offload"
require "plait/mechanisms/processes"
require "plait/mechanisms/ractors"
require "plait/mechanisms/scheduler"
require "plait/mechanisms/worker_thread"

module Support
  # Longer graces for what is cancelled: on a busy machine an `ensure` part may begin seconds later.
  module Patience
    # Seconds; the tests' own time limit is what ends a body that hangs.
    GRACE = 60
    # The names of the classes that have a grace, below Plait.
    HOLDERS = %w[WorkerThread Offload::Job Scheduler::Ending Mechanisms::Fibers::Pool Mechanisms::Processes::ChildProcess
                 Mechanisms::Processes::Supervisor Mechanisms::Ractors::Pool].freeze

    module_function

    # For a run whose `ensure` parts have to come to their end.
    # @param seconds [Numeric] fewer where a run has to wait for their end
    # @param more [Array<Class>] that have a grace too
    # @return [Object] what the block returns
    def patiently(seconds = GRACE, *more)
      before = be_patient(seconds, *more)
      yield
    ensure
      before&.each { |holder, grace| set(holder, grace) }
    end

    # For the rest of the process.
    # @return [Hash{Module => Numeric}] the graces until now
    def be_patient(seconds = GRACE, *more)
      holders = HOLDERS.map { |path| path.split("::").reduce(Plait) { |outer, name| outer.const_get(name, false) } }
      (holders + more).to_h { |holder| [holder, set(holder, seconds)] }
    end

    # @return [Numeric] the grace until now
    def set(holder, seconds)
      holder.send(:remove_const, :GRACE).tap { holder.const_set(:GRACE, seconds) }
    end
  end
end
