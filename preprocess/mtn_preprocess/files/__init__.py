"""Reading and writing of files by commands.

json_file          read this project's JSON files, even damaged ones
result_file        write a file completely or not at all; links, pipes and devices are kept
whole_folder       write a folder completely or not at all
ownership          lock unfinished files and folders, and remove those of killed runs
standard_streams   standard input and output
"""
