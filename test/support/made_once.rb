# frozen_string_literal: true

require "digest"
require "fileutils"
require "minitest"
require "tmpdir"

module Support
  # What takes long to make and many test files need: made once in a run of bin/test, which names the folder in PLAIT_SHARED, else
  # once in this process.
  module MadeOnce
    module_function

    # @param key [Array<String>] all that the result depends on
    # @yieldparam path [String] where to make it, a file or a folder
    # @return [String] its path, to be read only
    def made_once(*key)
      path = File.join(shared_folder, Digest::SHA256.hexdigest(key.join("\0"))[0, 16])
      File.open("#{path}.lock", File::CREAT | File::RDWR) do |lock|
        lock.flock(File::LOCK_EX)
        next if File.exist?(path)

        FileUtils.rm_rf("#{path}.new") # of a process that was killed
        yield("#{path}.new")
        File.rename("#{path}.new", path)
      end
      path
    end

    def shared_folder
      ENV.fetch("PLAIT_SHARED") do
        @shared_folder ||= Dir.mktmpdir("plait-test-").tap do |folder|
          File.chmod(0o711, folder)
          Minitest.after_run { FileUtils.rm_rf(folder) }
        end
      end
    end
  end
end
