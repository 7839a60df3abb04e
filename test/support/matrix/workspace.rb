# frozen_string_literal: true

require "English"
require "fileutils"

module Support
  class Matrix
    # A copy of the project for one Ruby: what is compiled and installed for it stays apart, and is kept for next time.
    class Workspace
      KEPT = %w[vendor tmp Gemfile.lock].freeze
      BUILT = %r{\A(vendor|tmp|coverage|doc|pkg|\.git)(/|\z)|\.(so|o)\z}

      # @return [String]
      attr_reader :folder

      def initialize(root, name)
        @root = root
        @folder = File.join(root, "tmp/matrix", name.tr("^a-zA-Z0-9.-", "_"))
      end

      # @return [String] the folder, with the project as it is now
      def update
        FileUtils.mkdir_p(@folder)
        (Dir.children(@folder) - KEPT).each { |name| FileUtils.rm_rf(File.join(@folder, name)) }
        sources.each { |name| copy(name) }
        @folder
      end

      private

      # Without git (a released archive) everything that is not the result of a build.
      def sources
        listed = IO.popen(%w[git ls-files -z -co --exclude-standard] << { chdir: @root, err: File::NULL }, &:read)
        $CHILD_STATUS.success? ? listed.split("\0") : Dir.glob("**/*", File::FNM_DOTMATCH, base: @root).grep_v(BUILT)
      end

      def copy(name)
        source = File.join(@root, name)
        return unless File.file?(source)

        FileUtils.mkdir_p(File.dirname(File.join(@folder, name)))
        FileUtils.cp(source, File.join(@folder, name), preserve: true)
      end
    end
  end
end
