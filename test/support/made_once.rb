# frozen_string_literal: true

require "digest"
require "fileutils"
require "minitest"
require "tmpdir"
require_relative "root"

module Support
  # What takes long to make and many test files need: made once in a run of bin/test, which names the folder in PLAIT_SHARED, else
  # once in this process.
  module MadeOnce
    module_function

    # @param key [Array<String>] all that the result depends on
    # @yieldparam path [String] where to make it, a file or a folder
    # @return [String] its path, to be read only
    def made_once(*key, &make) = made(shared_folder, key, &make)

    # As {made_once}, for what later runs take as it is, until `rake clean`: compiled files, with all their sources in the key.
    def lasting(*key, &make)
      FileUtils.mkdir_p(folder = File.join(ROOT, "tmp/made"))
      made(folder, key, &make)
    end

    def made(folder, key)
      path = File.join(folder, Digest::SHA256.hexdigest(key.join("\0"))[0, 16])
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
