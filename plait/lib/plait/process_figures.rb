# frozen_string_literal: true

module Plait
  # Figures of a process, also of another one, as the kernel has them: processor time, memory, child processes. Without /proc,
  # and once the process has ended, a figure is nil and a list empty.
  module ProcessFigures
    module_function

    # @return [Float] seconds of processor time of all threads, also of ended ones, by the clock of clock_getcpuclockid(3):
    #   /proc has hundredths of a second
    # @raise [SystemCallError] the process has ended
    def cpu(pid) = Process.clock_gettime((~pid << 3) | 2)

    # @return [Integer, nil] bytes of resident memory
    def resident(pid = "self") = bytes(pid, "status", "VmRSS")

    # @return [Integer, nil] bytes of resident memory at most, since {forget_peak}
    def peak(pid = "self") = bytes(pid, "status", "VmHWM")

    # @return [Integer, nil] bytes of resident memory; of a page that several processes share, its part (PSS)
    def share(pid = "self") = bytes(pid, "smaps_rollup", "Pss")

    # The 5 makes the kernel forget the peak (Linux 4.0). Where that is not allowed, the peak since the start stays.
    def forget_peak(pid = "self")
      File.write("/proc/#{pid}/clear_refs", "5")
    rescue SystemCallError
      nil
    end

    # @param thread [String] in /proc: "self" is the main one of this process
    # @return [Float, nil] seconds in which the thread could have run and no processor was free for it
    def delay(thread = "self") = read("/proc/#{thread}/schedstat").split[1]&.then { |nanoseconds| nanoseconds.to_i / 1e9 }

    # @return [Array<Integer>] its child processes and theirs, each after its parent
    def descendants(pid)
      children = Dir.glob("/proc/#{pid}/task/*/children").flat_map { |path| read(path).split.map(&:to_i) }
      children + children.flat_map { |child| descendants(child) }
    end

    def bytes(pid, file, field)
      kilobytes = read("/proc/#{pid}/#{file}")[/^#{field}:\s*(\d+) kB$/, 1]
      kilobytes && (kilobytes.to_i * 1024)
    end

    # Processes end while they are looked at.
    def read(path)
      File.read(path)
    rescue SystemCallError
      ""
    end
  end
  private_constant :ProcessFigures
end
