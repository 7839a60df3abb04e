# frozen_string_literal: true

module Support
  # How long a process was kept from a processor: what a busy machine adds to a time that is measured by the clock.
  module RunQueue
    # USER_HZ of proc(5)
    TICKS = 100
    private_constant :TICKS

    module_function

    # Of this process and its children: those that work for it have to be let run as well. Where the kernel doesn't tell (it is
    # Linux that does, proc(5): schedstat) it is 0, and what is measured has to be met on a machine that is not busy.
    # @return [Float] seconds so far, summed over the threads there are, and what other guests of the host have taken
    def waited
      pids = [Process.pid, *Dir["/proc/self/task/*/children"].flat_map { |path| read(path).split }]
      nanoseconds = pids.sum { |pid| Dir["/proc/#{pid}/task/*/schedstat"].sum { |path| read(path).split[1].to_i } }
      (nanoseconds / 1e9) + stolen
    end

    # @yield what is measured
    # @return [Array(Float, Float)] seconds that it took, and how much of them may be the machine's
    def measure
      before = waited
      started = now
      yield
      took = now - started
      [took, [waited - before, 0].max] # a thread that has ended meanwhile has taken its part with it
    end

    # @yield what may not take long by itself
    # @return [Float] seconds that it took beyond those that may be the machine's
    def seconds(&block) = measure(&block).then { |took, kept| [took - kept, 0].max }

    def stolen = (read("/proc/stat")[/\Acpu .*/] || "").split[8].to_i.fdiv(TICKS)

    def read(path)
      File.read(path)
    rescue SystemCallError
      ""
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
